import {
  alwaysDenied,
  askingDecisions,
  decideCall,
  type JsonObject,
  type RuledTool,
  type RuleDecision,
} from '@toolrack/contract'
import type { AskingRule } from '../../calls/call.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { HidingRules } from '../../catalog/views/catalog-view.ts'
import { sha256 } from './kept-rules.ts'
import { markedText, ruleText, type MarkedRules } from './rule-marks.ts'
import { ruledTool } from '../../catalog/views/ruled-tool.ts'

/**
 * The rules that apply to the calls of one principal. An object of this class never changes: when rules change, there is a new
 * one.
 */
export class RulesInForce implements HidingRules {
  readonly owned: readonly MarkedRules[]
  /** False if some rules could not be read. Then no call is allowed. */
  readonly isWhole: boolean
  /** Equal for the same owners with equal rules. */
  readonly revision: string
  readonly #known = new WeakMap<CatalogEntry, RuleDecision | null>()

  constructor(owned: readonly MarkedRules[], isWhole = true) {
    this.owned = owned
    this.isWhole = isWhole
    const content = owned.map(({ owner, set }) => ({ owner, set }))
    this.revision = `${sha256(JSON.stringify(content)).slice(0, 16)}${isWhole ? '' : '-lost'}`
  }

  hides(entry: CatalogEntry): RuleDecision | undefined {
    const known = this.#known.get(entry)
    if (known !== undefined) return known ?? undefined
    const decision = alwaysDenied(this.owned, ruledTool(entry))
    this.#known.set(entry, decision ?? null)
    return decision
  }

  /** Every rule that asks about a call, in the order of the owners. Only for a call that no rule denies. */
  asks(entry: CatalogEntry, args: JsonObject): readonly AskingRule[] {
    const tool = ruledTool(entry)
    return this.owned.flatMap((one) => asksOfOwner(one, tool, args))
  }

  decide(entry: CatalogEntry, args: JsonObject): RuleDecision {
    return decideCall(this.owned, ruledTool(entry), args)
  }
}

/** The rules of a caller who has none: they allow every call, and hide no tool. */
export const NO_RULES = new RulesInForce([])

/** A rule book without rules, for calls outside of a service. */
export const EMPTY_BOOK = { of: () => Promise.resolve(NO_RULES) }

function asksOfOwner(one: MarkedRules, tool: RuledTool, args: JsonObject): readonly AskingRule[] {
  const { set, marks } = one
  return askingDecisions(one, tool, args).map(({ effect: _ask, ...asked }) => {
    const rule = asked.rule === null ? undefined : set.rules[asked.rule]
    return { ...asked, says: markedText(marks, asked.rule ?? 'default', rule ? ruleText(rule) : 'default') }
  })
}
