import {
  alwaysDenied,
  decideBy,
  decideCall,
  matchedRules,
  type JsonObject,
  type OwnedRules,
  type RuledTool,
  type RuleDecision,
} from '@toolrack/contract'
import type { AskingRule } from '../pipeline/call.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { HidingRules } from '../../tools/catalog/catalog-view.ts'
import { sha256 } from './kept-rules.ts'
import { ruledTool } from './ruled-tool.ts'

/** The rules that apply to the calls of one principal. They never change: other rules are another object. */
export class RulesInForce implements HidingRules {
  readonly owned: readonly OwnedRules[]
  /** False if there may be more rules, which could not be read. Then no call is allowed. */
  readonly isWhole: boolean
  /** Equal for equal rules of the same owners. */
  readonly revision: string
  readonly #known = new WeakMap<CatalogEntry, RuleDecision | null>()

  constructor(owned: readonly OwnedRules[], isWhole = true) {
    this.owned = owned
    this.isWhole = isWhole
    this.revision = `${sha256(JSON.stringify(owned)).slice(0, 16)}${isWhole ? '' : '-lost'}`
  }

  hides(entry: CatalogEntry): RuleDecision | undefined {
    const known = this.#known.get(entry)
    if (known !== undefined) return known ?? undefined
    const decision = alwaysDenied(this.owned, ruledTool(entry))
    this.#known.set(entry, decision ?? null)
    return decision
  }

  /** Every rule that asks about a call which no rule denies, in the order of the owners. */
  asks(entry: CatalogEntry, args: JsonObject): readonly AskingRule[] {
    const tool = ruledTool(entry)
    return this.owned.flatMap((one) => asksOfOwner(one, tool, args))
  }

  decide(entry: CatalogEntry, args: JsonObject): RuleDecision {
    return decideCall(this.owned, ruledTool(entry), args)
  }
}

/** Nobody's rules. Every call is allowed, and a view of the catalog stays as it is. */
export const NO_RULES = new RulesInForce([])

/** A book without any rules, for calls outside of a service. */
export const EMPTY_BOOK = { of: () => NO_RULES }

function asksOfOwner(one: OwnedRules, tool: RuledTool, args: JsonObject): readonly AskingRule[] {
  const { owner, set } = one
  const matched = matchedRules(set, tool, args)
  const { effect, ...decision } = decideBy([one], tool, (rule) => matched.has(rule))
  if (effect !== 'ask') return []
  if (decision.rule === null) return [{ ...decision, says: 'default' }]
  return set.rules.flatMap((rule) => {
    if (rule.effect !== 'ask' || !matched.has(rule)) return []
    // Only this rule matches. The others stay in the list, so that the decision has the index of the rule.
    const { effect: own, ...asked } = decideBy([{ owner, set }], tool, (other) => other === rule)
    return own === 'ask' ? [{ ...asked, says: JSON.stringify(rule) }] : []
  })
}
