import { parseNameEntry, type DialectRules } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { FRAGMENT_START, fragmentEnd, JoinedTokens, tailOf, type Joint } from '../tokens/joined-tokens.ts'
import type { DetailLevel } from '../tokens/detail-levels.ts'
import type { CountTokens, TokenCounter } from '../tokens/token-counter.ts'
import type { UsageRank } from './usage-rank.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { isAliasTaken, isOmittedFrom, joinedAnswer, markOf, withSearch, workflowOf } from './list-answer.ts'
import type { ItemWorkflows, ListAnswer } from './list-answer.ts'
import type { ListQuery } from './list-query.ts'
import { placeTools, type PlacedTool, type SizedTool, type ToolBounds } from './place-tools.ts'
import type { FragmentSize, LevelFragments, LevelSizes } from './level-fragments.ts'
import { selectEntries, type Listed, type Selected } from './select-entries.ts'

/** How many tokens a list takes, and how many of its tools are at each detail level. */
export type TokenBill = { readonly used: number; readonly budget: number | undefined } & {
  readonly [On in DetailLevel | 'dropped']: number
}

export type CountedAnswer = ListAnswer & {
  readonly bill: TokenBill
  /** All tools that the query wants and that the dialect admits, ordered by priority. Empty if there is no budget. */
  readonly placed: readonly PlacedTool[]
}

/** What decides a list with a budget, besides the query. */
export type Counting = {
  readonly levelFragments: LevelFragments
  readonly count: TokenCounter
  readonly pinned: ReadonlySet<string>
  readonly rank: UsageRank
  readonly bounds?: ToolBounds | undefined
}

const NOTHING = Buffer.alloc(0)

/**
 * Makes a list whose tokens are counted. With a budget, `placeTools` chooses the detail level of each tool. The order of the list
 * stays the same. Throws ANSWER_TOO_LARGE only if there is no budget.
 */
export function* countedAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules | undefined,
  workflows: ItemWorkflows,
  counting: Counting,
  found?: readonly CatalogEntry[],
): Pieces<CountedAnswer> {
  const { levelFragments, count } = counting
  const isOmitted = isOmittedFrom(query, workflows)
  const select = (shape: (entry: CatalogEntry) => Listed | undefined): Pieces<Selected> =>
    selectEntries(view, query, isOmitted, shape, found)
  const wanted: CatalogEntry[] = []
  yield* select((entry) => {
    wanted.push(entry)
    return { fragment: NOTHING, workflowName: undefined, callable: null }
  })
  const measured = new Map<CatalogEntry, LevelSizes | undefined>()
  for (const entry of wanted) {
    yield
    measured.set(entry, yield* levelFragments.measured(entry, dialect, count))
  }
  if (dialect?.usesAliases) yield* view.readAliases()
  const tools = new Map<Listed, SizedTool>()
  const selected = yield* select((entry) => {
    const isRefused = dialect !== undefined && isAliasTaken(view, entry, dialect)
    const sizes = isRefused ? undefined : measured.get(entry)
    // With a budget, `placeTools` has limited the bytes of the list already.
    const fragment = query.budget === undefined ? levelFragments.of(entry, dialect, 'full') : NOTHING
    if (!sizes || !fragment) return undefined
    const ending = endingOf(entry, query, workflows)
    const { name, layer, workflowName, callable } = entry
    const listed = { name, layer, fragment, workflowName, callable, size: sizes.full }
    tools.set(listed, { entry, sizes, ending })
    return listed
  })
  const joined = new JoinedTokens(count, jointOf(query, dialect))
  const placed =
    query.budget === undefined ? undefined : place(view, selected, query, dialect, tools, joined, counting)
  const numbers = { full: 0, short: 0, deferred: 0, dropped: 0 }
  const levelOf = new Map(placed?.map(({ entry, level }) => [entry, level]))

  function* atLevels(list: readonly Listed[]): Pieces<Listed[]> {
    const kept: Listed[] = []
    for (const one of list) {
      yield
      const tool = tools.get(one)
      const level = placed && tool ? levelOf.get(tool.entry) : 'full'
      numbers[level ?? 'dropped'] += 1
      const fragment = level && tool && levelFragments.of(tool.entry, dialect, level)
      if (fragment) kept.push({ ...one, fragment, size: tool.sizes[level] })
    }
    return kept
  }

  // If the vendor has its own search for tools, it replaces the service's tools for finding other tools.
  const isDeferred = query.withSearch && dialect?.deferral !== undefined && selected.listed.length > 0
  const kept = {
    listed: yield* atLevels(selected.listed),
    loaded: yield* atLevels(selected.loaded),
    finders: isDeferred ? [] : yield* atLevels(selected.finders),
  }
  const listed = withSearch(kept, query, dialect)
  const answer = joinedAnswer(view, query, workflows, selected, listed, dialect, found)
  const counted = listed.map((one) => ({
    ...(one.size ?? sizeOf(one.fragment, count)),
    ending: one.ending ?? endingOf(one, query, workflows),
  }))
  const bill = { used: joined.of(counted), budget: query.budget, ...numbers }
  return { ...answer, placed: placed ?? [], bill }
}

/** The text of `X-Tools-Tokens`. */
export function billText({ used, budget, full, short, deferred, dropped }: TokenBill): string {
  return `${used}/${budget ?? '-'}; full=${full}; short=${short}; deferred=${deferred}; dropped=${dropped}`
}

function place(
  view: CatalogView,
  { finders, listed, loaded }: Selected,
  query: ListQuery,
  dialect: DialectRules | undefined,
  tools: ReadonlyMap<Listed, SizedTool>,
  joined: JoinedTokens,
  { pinned, rank, count, bounds }: Counting,
): readonly PlacedTool[] {
  const deferral = query.withSearch && listed.length > 0 ? dialect?.deferral : undefined
  const mark = deferral && markOf(deferral)
  const sized = (list: readonly Listed[], ending?: string): SizedTool[] =>
    list.flatMap((one) => {
      const tool = tools.get(one)
      return tool ? [ending === undefined ? tool : { ...tool, ending }] : []
    })
  const first = [...(deferral ? [] : sized(finders)), ...sized(loaded)]
  const others = sized(listed, mark)
  const searchTool = deferral && sizeOf(Buffer.from(JSON.stringify(deferral.searchTool)), count)
  const open = joined.open + (searchTool ? joined.most(searchTool) : 0)
  // A tool that the model has already loaded is in the list even if the query does not name it.
  const byName = query.loaded.flatMap((one) => view.resolve(parseNameEntry(one).name)?.name ?? [])
  const asked = new Set([...pinned, ...byName, ...first.map(({ entry }) => entry.name)])
  const search = query.q === undefined ? undefined : others.map(({ entry }) => entry.name)
  const order = { pinned: asked, rank, search }
  return placeTools([...first, ...others], order, query.budget ?? 0, open, joined, bounds)
}

function sizeOf(fragment: Buffer, count: CountTokens): FragmentSize {
  const text = fragment.toString()
  return { tokens: count(fragmentEnd(text)), bytes: fragment.length, tail: tailOf(text) }
}

function endingOf(
  one: Pick<Listed, 'callable' | 'workflowName'>,
  { envelope }: ListQuery,
  workflows: ItemWorkflows,
): string | undefined {
  if (envelope !== 'items') return undefined
  return `,"workflowName":${JSON.stringify(workflowOf(one, workflows))}}`
}

function jointOf({ envelope }: ListQuery, dialect: DialectRules | undefined): Joint {
  const key = dialect?.declarationsKey
  if (envelope === 'items') return { open: `{"items":[${FRAGMENT_START}`, close: ']}', empty: '{"items":[]}' }
  if (key === undefined) return { open: `[${FRAGMENT_START}`, close: ']', empty: '[]' }
  return { open: `[{${JSON.stringify(key)}:[${FRAGMENT_START}`, close: ']}]', empty: '[]' }
}
