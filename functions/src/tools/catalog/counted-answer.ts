import type { DialectRules } from '@toolrack/contract'
import { LongWork } from '../../loop-turn.ts'
import { FRAGMENT_START, JoinedTokens, type CountedFragment, type Joint } from '../tokens/joined-tokens.ts'
import { climb, type RungCost, type Standing } from '../tokens/ladder.ts'
import type { Rung } from '../tokens/rungs.ts'
import type { CountTokens } from '../tokens/token-counter.ts'
import type { UsageRank } from '../usage/usage-rank.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { aliasFault } from './explain-dialects.ts'
import {
  isOmittedFrom,
  joinedAnswer,
  workflowOf,
  type ItemWorkflows,
  type ListAnswer,
} from './list-answer.ts'
import type { ListQuery } from './list-query.ts'
import type { RungFragments, RungSizes } from './rung-fragments.ts'
import { ANSWER_BYTES_MAX, answerTooLarge, candidates, PAGE_BYTES_MAX } from './select-entries.ts'

/** What a list takes, and how many tools are on each rung. */
export type TokenBill = { readonly used: number; readonly budget: number | undefined } & {
  readonly [On in Rung | 'dropped']: number
}

/** A tool with its place in the order of the ladder. */
export type PlacedTool = {
  readonly entry: CatalogEntry
  /** Why it has its place: it is pinned, it is used and works, or only by its name. */
  readonly because: 'pinned' | 'used' | 'name'
  readonly rung: Rung | undefined
  /** The smallest budget with which it is on each rung. A rung that is never used is missing. */
  readonly needs: Standing['needs']
  /** The most tokens that it adds to the list on each rung. */
  readonly tokens: { readonly [On in Rung]: number }
}

export type CountedAnswer = ListAnswer & {
  readonly bill: TokenBill
  /** All tools that the query asks for and the dialect admits, in the order of the ladder. Empty without a budget. */
  readonly placed: readonly PlacedTool[]
}

/** What decides a budgeted list besides its query. */
export type Counting = {
  readonly rungs: RungFragments
  readonly count: CountTokens
  readonly pinned: ReadonlySet<string>
  readonly rank: UsageRank
}

type Sized = { readonly entry: CatalogEntry; readonly sizes: RungSizes; readonly workflowName: string }
type Found = Awaited<ReturnType<typeof selectSized>>

/**
 * Makes a list whose tokens are counted. With a budget, the ladder decides on which rung each tool is; the order of the list stays
 * that of the catalog. Other requests get turns meanwhile. Rejects with ANSWER_TOO_LARGE only without a budget.
 */
export async function countedAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules | undefined,
  workflows: ItemWorkflows,
  counting: Counting,
): Promise<CountedAnswer> {
  const { rungs, count } = counting
  const work = new LongWork()
  const found = await selectSized(view, query, dialect, workflows, counting, work)
  const joined = new JoinedTokens(count, jointOf(query, dialect))
  const placed = query.budget === undefined ? [] : place(found, query.budget, joined, counting, query)
  const rungOf = new Map(placed.map(({ entry, rung }) => [entry, rung]))
  const listed = []
  const counted: CountedFragment[] = []
  const numbers = { full: 0, short: 0, deferred: 0, dropped: 0 }
  for (const { entry, sizes, workflowName } of found.sized) {
    if (work.isLong) await work.giveTurn()
    const rung = query.budget === undefined ? 'full' : rungOf.get(entry)
    numbers[rung ?? 'dropped'] += 1
    const fragment = rung && rungs.of(entry, dialect, rung)
    if (!rung || !fragment) continue
    listed.push({ fragment, workflowName: entry.workflowName, callable: entry.callable })
    counted.push({ ...sizes[rung], workflowName })
  }
  const answer = joinedAnswer(view, query, workflows, { ...found, listed }, dialect?.declarationsKey)
  return { ...answer, placed, bill: { used: joined.of(counted), budget: query.budget, ...numbers } }
}

/** The text of `X-Tools-Tokens`. */
export function billText({ used, budget, full, short, deferred, dropped }: TokenBill): string {
  return `${used}/${budget ?? '-'}; full=${full}; short=${short}; deferred=${deferred}; dropped=${dropped}`
}

/** Selects as `selectEntries` does, and counts. With a budget there is no bound of bytes here, because the ladder keeps it. */
async function selectSized(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules | undefined,
  workflows: ItemWorkflows,
  { rungs, count }: Counting,
  work: LongWork,
) {
  const { entries, unknown } = candidates(view, query)
  const isOmitted = isOmittedFrom(query, workflows)
  const bytesMax =
    query.budget !== undefined ? Infinity : query.limit === undefined ? ANSWER_BYTES_MAX : PAGE_BYTES_MAX
  const sized: Sized[] = []
  const quarantined: string[] = []
  const omitted: string[] = []
  let last: CatalogEntry | undefined
  let bytes = 0
  for (const entry of entries) {
    if (work.isLong) await work.giveTurn()
    const page = { sized, quarantined, omitted, unknown, last, hasMore: true }
    if (sized.length === query.limit) return page
    if (isOmitted(entry)) omitted.push(entry.name)
    else {
      const isRefused = dialect !== undefined && aliasFault(view, entry.name, dialect) !== undefined
      const sizes = isRefused ? undefined : rungs.sizes(entry, dialect, count)
      bytes += sizes?.full.bytes ?? 0
      if (bytes > bytesMax) {
        if (query.limit === undefined) throw answerTooLarge()
        return page
      }
      if (sizes) sized.push({ entry, sizes, workflowName: workflowOf(entry, workflows) })
      else quarantined.push(entry.name)
    }
    last = entry
  }
  return { sized, quarantined, omitted, unknown, last, hasMore: false }
}

function place(
  { sized }: Found,
  budget: number,
  joined: JoinedTokens,
  { pinned, rank }: Counting,
  { envelope }: ListQuery,
): readonly PlacedTool[] {
  const tools = sized.map(({ entry, sizes, workflowName }) => {
    const { name } = entry
    const isUsed = rank.places.has(name)
    const because = pinned.has(name) ? ('pinned' as const) : isUsed ? ('used' as const) : ('name' as const)
    const costOf = (rung: Rung): RungCost => {
      const { tokens, bytes, tail } = sizes[rung]
      const item = envelope === 'items' ? itemBytes(workflowName) : 0
      return { tokens: joined.most({ tokens, tail, workflowName }), bytes: bytes + 1 + item }
    }
    const costs = { full: costOf('full'), short: costOf('short'), deferred: costOf('deferred') }
    return { entry, because, group: GROUPS.indexOf(because), at: rank.places.get(name) ?? Infinity, costs }
  })
  const ordered = tools.toSorted(
    (a, b) => a.group - b.group || compare(a.at, b.at) || compare(a.entry.name, b.entry.name),
  )
  const standings = climb(ordered, { tokens: budget, bytes: PAGE_BYTES_MAX }, joined.open)
  return ordered.map(({ entry, because, costs: { full, short, deferred } }, index) => {
    const tokens = { full: full.tokens, short: short.tokens, deferred: deferred.tokens }
    const { rung, needs = {} } = standings[index] ?? {}
    return { entry, because, rung, needs, tokens }
  })
}

const GROUPS = ['pinned', 'used', 'name'] as const

function compare<Value extends number | string>(a: Value, b: Value): number {
  return a === b ? 0 : a < b ? -1 : 1
}

/** The bytes that an item has more than its fragment. */
function itemBytes(workflowName: string): number {
  return Buffer.byteLength(`,"workflowName":${JSON.stringify(workflowName)}`)
}

function jointOf({ envelope }: ListQuery, dialect: DialectRules | undefined): Joint {
  const key = dialect?.declarationsKey
  if (envelope === 'items')
    return { open: `{"items":[${FRAGMENT_START}`, close: ']}', empty: '{"items":[]}', isItems: true }
  if (key === undefined) return { open: `[${FRAGMENT_START}`, close: ']', empty: '[]', isItems: false }
  const open = `[{${JSON.stringify(key)}:[${FRAGMENT_START}`
  return { open, close: ']}]', empty: '[]', isItems: false }
}
