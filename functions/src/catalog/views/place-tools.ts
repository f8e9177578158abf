import type { JoinedTokens } from '../tokens/joined-tokens.ts'
import { chooseLevels, WITHOUT_DEFERRED, type LevelCost, type LevelChoice } from '../tokens/choose-levels.ts'
import type { DetailLevel } from '../tokens/detail-levels.ts'
import type { UsageRank } from './usage-rank.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { LevelSizes } from './level-fragments.ts'
import { PAGE_BYTES_MAX } from './select-entries.ts'

/** A tool with its size at each detail level. `ending` replaces the last brace of its fragment. */
export type SizedTool = {
  readonly entry: CatalogEntry
  readonly sizes: LevelSizes
  readonly ending: string | undefined
}

/**
 * The reasons for the priority of a tool, the highest priority first. In a list with a search, `found` replaces the last two
 * reasons.
 */
const REASONS = ['pinned', 'found', 'used', 'name'] as const

/** A tool with its detail level and the reason for its priority. */
export type PlacedTool = {
  readonly entry: CatalogEntry
  readonly because: (typeof REASONS)[number]
  readonly level: DetailLevel | undefined
  /** For each detail level, the smallest budget with which the tool gets it. A level that is never used is missing. */
  readonly needs: LevelChoice['needs']
  /** The most tokens that the tool adds to the list at each detail level. */
  readonly tokens: { readonly [On in DetailLevel]: number }
}

export type ToolOrder = {
  readonly pinned: ReadonlySet<string>
  readonly rank: UsageRank
  /** The names of the tools that a search has found, the best first. */
  readonly search: readonly string[] | undefined
}

/**
 * The limits of the model besides the budget: how many tools it takes, and whether it can use tools of which it knows only the
 * name.
 */
export type ToolBounds = { readonly toolsMax?: number | undefined; readonly defers?: boolean | undefined }

/**
 * Orders the tools of a list by priority and chooses their detail levels. If there are more than `toolsMax`, the tools with the
 * lowest priority are dropped. `open` is the number of tokens of the list without any tool. The result is ordered by priority.
 */
export function placeTools(
  tools: readonly SizedTool[],
  { pinned, rank, search }: ToolOrder,
  budget: number,
  open: number,
  joined: JoinedTokens,
  { toolsMax = Infinity, defers = true }: ToolBounds = {},
): readonly PlacedTool[] {
  const found = new Map(search?.map((name, at) => [name, at]))
  const ordered = tools
    .map((tool) => {
      const { name } = tool.entry
      const isUsed = rank.places.has(name)
      const because = pinned.has(name) ? 'pinned' : search ? 'found' : isUsed ? 'used' : 'name'
      const at = (search ? found : rank.places).get(name) ?? Infinity
      const group = REASONS.indexOf(because)
      return { entry: tool.entry, because, group, at, costs: costsOf(tool, joined) } as const
    })
    .toSorted((a, b) => a.group - b.group || compare(a.at, b.at) || compare(a.entry.name, b.entry.name))
  const room = { tokens: budget, bytes: PAGE_BYTES_MAX }
  const admitted = ordered.slice(0, toolsMax)
  const choices = chooseLevels(admitted, room, open, defers ? undefined : WITHOUT_DEFERRED)
  return ordered.map(({ entry, because, costs: { full, short, deferred } }, index) => {
    const tokens = { full: full.tokens, short: short.tokens, deferred: deferred.tokens }
    const { level, needs = {} } = choices[index] ?? {}
    return { entry, because, level, needs, tokens }
  })
}

function costsOf(
  { sizes, ending }: SizedTool,
  joined: JoinedTokens,
): { readonly [On in DetailLevel]: LevelCost } {
  const more = ending === undefined ? 1 : Buffer.byteLength(ending)
  const cost = (level: DetailLevel): LevelCost => ({
    tokens: joined.most({ ...sizes[level], ending }),
    bytes: sizes[level].bytes + more,
  })
  return { full: cost('full'), short: cost('short'), deferred: cost('deferred') }
}

function compare<Value extends number | string>(a: Value, b: Value): number {
  return a === b ? 0 : a < b ? -1 : 1
}
