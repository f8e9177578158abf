import {
  alwaysDenied,
  decideCall,
  type JsonObject,
  type OwnedRules,
  type RuledTool,
  type RuleDecision,
} from '@toolrack/contract'
import { definitionOf, type CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { HidingRules } from '../../tools/catalog/catalog-view.ts'
import { sha256 } from './kept-rules.ts'

/** The rules that apply to the calls of one principal. They never change: other rules are another object. */
export class RulesInForce implements HidingRules {
  readonly owned: readonly OwnedRules[]
  /** Equal for equal rules of the same owners. */
  readonly revision: string
  readonly #known = new WeakMap<CatalogEntry, RuleDecision | null>()

  constructor(owned: readonly OwnedRules[]) {
    this.owned = owned
    this.revision = sha256(JSON.stringify(owned)).slice(0, 16)
  }

  hides(entry: CatalogEntry): RuleDecision | undefined {
    const known = this.#known.get(entry)
    if (known !== undefined) return known ?? undefined
    const decision = alwaysDenied(this.owned, ruledTool(entry))
    this.#known.set(entry, decision ?? null)
    return decision
  }

  decide(entry: CatalogEntry, args: JsonObject): RuleDecision {
    return decideCall(this.owned, ruledTool(entry), args)
  }
}

/** The tool as rules see it. Its schema is parsed only if a rule about it has arguments. */
export function ruledTool(entry: CatalogEntry): RuledTool {
  return new EntryTool(entry)
}

class EntryTool implements RuledTool {
  readonly #entry: CatalogEntry
  #parameters: JsonObject | undefined

  constructor(entry: CatalogEntry) {
    this.#entry = entry
  }

  get name(): string {
    return this.#entry.name
  }

  get classes(): RuledTool['classes'] {
    return this.#entry.classes
  }

  get parameters(): JsonObject {
    return (this.#parameters ??= definitionOf(this.#entry).function.parameters ?? {})
  }
}

/** Nobody's rules. Every call is allowed, and a view of the catalog stays as it is. */
export const NO_RULES = new RulesInForce([])

/** A book without any rules, for calls outside of a service. */
export const EMPTY_BOOK = { of: () => NO_RULES }
