import type { Turns } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { countedAnswer, type CountedAnswer } from '../../catalog/views/counted-answer.ts'
import type { PlacedTool, ToolBounds } from '../../catalog/views/place-tools.ts'
import type { ListQuery } from '../../catalog/views/list-query.ts'
import { listRules } from '../../catalog/views/list-rules.ts'
import type { DetailLevel } from '../../catalog/tokens/detail-levels.ts'
import { tokenCounter } from '../../catalog/tokens/token-counter.ts'
import type { UsageRank } from '../../catalog/views/usage-rank.ts'
import { invalidParameter, type Query } from '../../http/query.ts'
import type { ResolvedListFilter } from './list-filter.ts'
import type { ListParts } from './list-parts.ts'

/** The largest budget that is accepted. No list takes as many tokens, so a larger one would make no difference. */
const BUDGET_MAX = 999_999_999_999_999
const DIGITS = /^\d{1,15}$/

/** Reads the parameters `budget` and `tokens`. */
export function countingIn(query: Query): Pick<ListQuery, 'budget' | 'countsTokens'> {
  const text = query.one('budget')
  const countsTokens = query.flag('tokens')
  if (text === undefined) return { budget: undefined, countsTokens }
  if (!DIGITS.test(text))
    throw invalidParameter('budget', `must be a whole number of tokens from 0 to ${BUDGET_MAX}, such as 4000`)
  const paging = ['limit', 'cursor'].find((name) => query.all(name).length > 0)
  if (paging !== undefined)
    throw invalidParameter(paging, 'cannot be used with budget, which is for the whole list; leave it out')
  return { budget: Number(text), countsTokens: true }
}

/** The parts of a list whose tokens are counted. */
export type CountedList = {
  readonly view: CatalogView
  readonly query: ListQuery
  readonly listFilter: ResolvedListFilter | undefined
  readonly rank: UsageRank
}

const NOTHING_PINNED: ReadonlySet<string> = new Set()

export async function countedAnswerOf(
  parts: ListParts,
  { view, query, listFilter, rank }: CountedList,
  found: readonly CatalogEntry[] | undefined,
  turns: Turns,
  bounds?: ToolBounds,
): Promise<CountedAnswer> {
  const dialect = listRules(query)
  const counting = {
    levelFragments: parts.catalog.levelFragments,
    count: await tokenCounter(),
    pinned: listFilter?.pinned ?? NOTHING_PINNED,
    rank,
    bounds,
  }
  return turns.run(countedAnswer(view, query, dialect, parts, counting, found))
}

/**
 * Explains how much of a tool a list with this budget shows. The detail level is `full`, `short`, `deferred` (only the name) or
 * `dropped`.
 */
export type BudgetExplanation = {
  readonly budget: number
  /** The tokens of the whole list. */
  readonly used: number
  /**
   * The detail level of the tool. Null if the tool would not be in the list with any budget, for example because of its dialect.
   */
  readonly rung: DetailLevel | 'dropped' | null
  readonly because?: PlacedTool['because']
  /** The position of the tool in the order in which tools get their share of the budget. The first position is 1. */
  readonly place?: number
  readonly of?: number
  /** The most tokens that the tool adds to the list at each detail level. */
  readonly tokens?: PlacedTool['tokens']
  /** The smallest budget for each detail level: the tokens that other tools use before this one, plus the tokens of this tool. */
  readonly needs?: PlacedTool['needs']
  readonly message: string
}

/** Explains what the budget in the query of a list means for one tool. Undefined if the query has no budget. */
export async function explainBudget(
  parts: ListParts,
  list: CountedList,
  found: readonly CatalogEntry[] | undefined,
  nameOrAlias: string,
  turns: Turns,
): Promise<BudgetExplanation | undefined> {
  const { budget } = list.query
  if (budget === undefined) return undefined
  const { bill, placed } = await countedAnswerOf(parts, list, found, turns)
  const entry = list.view.resolve(nameOrAlias)
  const at = placed.findIndex((tool) => tool.entry === entry)
  const tool = placed[at]
  if (!tool) {
    const message = 'The list does not have the tool, whatever its budget is.'
    return { budget, used: bill.used, rung: null, message }
  }
  const { because, tokens, needs } = tool
  const place = { because, place: at + 1, of: placed.length }
  return {
    budget,
    used: bill.used,
    rung: tool.level ?? 'dropped',
    ...place,
    tokens,
    needs,
    message: whyPlaced(tool, place, budget),
  }
}

const BECAUSE = {
  pinned: 'it is pinned, or the list is asked for it',
  found: 'the search found it there',
  used: 'it was used in the last days, and works',
  name: 'it is neither pinned nor known to be used, so its name decides',
} as const

function whyPlaced(
  { level, needs }: PlacedTool,
  { because, place, of }: { because: PlacedTool['because']; place: number; of: number },
  budget: number,
): string {
  const where = `The tool has place ${place} of ${of}, because ${BECAUSE[because]}.`
  const larger = Object.entries(needs).filter(([, tokens]) => tokens > budget)
  const [next] = larger.toSorted(([, a], [, b]) => a - b)
  const is = level === undefined ? 'It is dropped' : `It is ${level}`
  if (!next) return `${where} ${is}: the budget is enough for all of it.`
  return `${where} ${is}: with what comes before it, ${next[0]} needs a budget of ${next[1]}.`
}
