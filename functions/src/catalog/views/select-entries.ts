import { parseNameEntry, ToolrackError } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { FINDER_NAMES, FINDERS } from '../builtin/builtins.ts'
import { layeredDigest, type CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { inOrder, PAGE_MAX, type ListQuery } from './list-query.ts'
import type { FragmentSize } from './level-fragments.ts'

export type Listed = Pick<CatalogEntry, 'fragment' | 'workflowName' | 'callable'> & {
  /** The canonical name of the tool. Undefined for a tool that only the vendor knows. */
  readonly name?: string
  /** The layer of the tool. Undefined for a tool that only the vendor knows. */
  readonly layer?: CatalogEntry['layer']
  /** The size of the fragment without `ending`. Present only in a list whose tokens are counted. */
  readonly size?: FragmentSize
  /** The text that has replaced the last brace of the fragment. */
  readonly ending?: string
}

/** The result of `selectEntries`. The comment of this function explains each field. */
export type Selected = {
  readonly finders: readonly Listed[]
  readonly listed: readonly Listed[]
  readonly loaded: readonly Listed[]
  readonly quarantined: readonly string[]
  readonly omitted: readonly string[]
  readonly unknown: readonly string[]
  readonly leftOut: readonly string[]
  readonly last: CatalogEntry | undefined
  readonly hasMore: boolean
}

/** The most UTF-8 bytes of one answer. A larger list is refused without `limit`. With `limit`, its page ends earlier. */
export const ANSWER_BYTES_MAX = 25 * 1024 * 1024

/** The bytes of an answer that are reserved for commas and workflow names. */
const ENVELOPE_BYTES = 1024 * 1024

/** The most UTF-8 bytes of the fragments of one page. */
export const PAGE_BYTES_MAX = ANSWER_BYTES_MAX - ENVELOPE_BYTES

/** Collects the names of the tools that one selection leaves out, and counts the bytes of the selected tools. */
class Selection {
  readonly quarantined: string[] = []
  readonly omitted: string[] = []
  readonly #isOmitted: (entry: CatalogEntry) => boolean
  readonly #shape: (entry: CatalogEntry) => Listed | undefined
  readonly #bytesMax: number
  #bytes = 0

  constructor(
    isOmitted: (entry: CatalogEntry) => boolean,
    shape: (entry: CatalogEntry) => Listed | undefined,
    isPaged: boolean,
  ) {
    this.#isOmitted = isOmitted
    this.#shape = shape
    this.#bytesMax = isPaged ? PAGE_BYTES_MAX : ANSWER_BYTES_MAX
  }

  /** The entry as the list shows it. Undefined if the entry is left out, and `full` if the list has no room for it. */
  take(entry: CatalogEntry): Listed | undefined | 'full' {
    if (this.#isOmitted(entry)) {
      this.omitted.push(entry.name)
      return undefined
    }
    const one = this.#shape(entry)
    this.#bytes += one?.fragment.length ?? 0
    if (this.#bytes > this.#bytesMax) return 'full'
    if (!one) this.quarantined.push(entry.name)
    return one
  }
}

/**
 * Selects the entries of a catalog for a query. If the query has names, only these names are looked up, so the size of the
 * catalog makes no difference.
 *
 * - `isOmitted` says which entries are left out before `shape` sees them.
 * - `shape` makes the listed form of an entry, or returns undefined to quarantine it.
 * - `found` has the entries that the query's search has found, in their order.
 *
 * The result has these fields:
 *
 * - `finders`: the tools by which a model finds other tools.
 * - `loaded`: the tools that the query wants at the end.
 * - `unknown`: the requested names for which there is no visible tool.
 * - `leftOut`: the requested names whose tools the filter of the view leaves out, or that wait for consent.
 * - `hasMore`: true if the page is full.
 */
export function* selectEntries(
  view: CatalogView,
  query: ListQuery,
  isOmitted: (entry: CatalogEntry) => boolean,
  shape: (entry: CatalogEntry) => Listed | undefined,
  found?: readonly CatalogEntry[],
): Pieces<Selected> {
  const { candidates, ...missing } = sourceOf(view, query, found)
  const isPaged = query.limit !== undefined
  const selection = new Selection(isOmitted, shape, isPaged)
  const { quarantined, omitted } = selection
  const finders: Listed[] = []
  const listed: Listed[] = []
  const loaded: Listed[] = []
  const inList = new Set<CatalogEntry>()
  let last: CatalogEntry | undefined
  const done = (hasMore: boolean) => ({
    finders,
    listed,
    loaded,
    quarantined,
    omitted,
    last,
    ...missing,
    hasMore,
  })
  function put(entry: CatalogEntry, list: Listed[]): boolean {
    const one = selection.take(entry)
    // The list is already too large for an answer, so no further fragments are made.
    if (one === 'full' && !isPaged) throw answerTooLarge()
    if (one === 'full') return false
    if (one) list.push(one)
    return true
  }
  // Only the first page begins with the finders.
  if (query.withSearch && query.after === undefined)
    for (const name of FINDER_NAMES) {
      const entry = resolved(view, name, missing)
      // Another definition, of the operator or of the user, can have the name of a finder.
      if (entry && !isFinder(entry)) missing.unknown.push(name)
      if (!entry || !isFinder(entry)) continue
      inList.add(entry)
      put(entry, finders)
    }
  let hasMore = false
  for (const entry of candidates) {
    yield
    if (!matches(entry, query) || inList.has(entry) || !view.shows(entry)) continue
    hasMore = listed.length === query.limit
    if (hasMore) break
    if (!put(entry, listed)) return done(true)
    if (query.loaded.length > 0) inList.add(entry)
    last = entry
  }
  for (const name of query.loaded) {
    yield
    const entry = resolved(view, name, missing)
    if (!entry || inList.has(entry) || query.unavailable?.has(layeredDigest(entry))) continue
    inList.add(entry)
    put(entry, loaded)
  }
  return done(hasMore)
}

/** True for a tool that is in a list only if the list is asked for it: `FINDERS` has these. */
export function isFinder({ howRun }: CatalogEntry): boolean {
  return howRun.by === 'builtin' && FINDERS.has(howRun.builtin)
}

function* withoutFinders(entries: Iterable<CatalogEntry>): Generator<CatalogEntry> {
  for (const entry of entries) if (!isFinder(entry)) yield entry
}

/** The entries from which the query selects. A tool that the query names is in the list, even if it is a finder. */
function sourceOf(view: CatalogView, query: ListQuery, found: readonly CatalogEntry[] | undefined) {
  if (query.names === 'all')
    return {
      candidates: withoutFinders(found ?? view.candidates(query.after)),
      unknown: [] as string[],
      leftOut: [] as string[],
    }
  const { entries, ...missing } = named(view, query.names)
  const wanted = new Set(entries)
  return { candidates: found ? found.filter((entry) => wanted.has(entry)) : entries, ...missing }
}

export function answerTooLarge(): ToolrackError {
  return new ToolrackError(
    'ANSWER_TOO_LARGE',
    `The list has more than the ${ANSWER_BYTES_MAX} bytes that an answer may have; page it with limit (at most ${PAGE_MAX}) and cursor.`,
  )
}

/** True if the entry has one of the tags and one of the categories, comes after the position, and is not unavailable. */
export function matches(
  entry: CatalogEntry,
  { tags, categories, after, unavailable }: Pick<ListQuery, 'tags' | 'categories' | 'after' | 'unavailable'>,
): boolean {
  return (
    (after === undefined || inOrder(entry, after) > 0) &&
    !unavailable?.has(layeredDigest(entry)) &&
    (tags.size === 0 || entry.tags.some((tag) => tags.has(tag))) &&
    (categories.size === 0 || (entry.category !== undefined && categories.has(entry.category)))
  )
}

/** The visible entries with these names, and the names that no visible tool has. */
export function named(view: CatalogView, names: ReadonlySet<string>) {
  const found = new Set<CatalogEntry>()
  const missing = { unknown: [] as string[], leftOut: [] as string[] }
  for (const requested of names) {
    const entry = resolved(view, requested, missing)
    if (entry) found.add(entry)
  }
  return { entries: [...found].toSorted(inOrder), ...missing }
}

/**
 * The requested names for which the list has no tool. `unknown`: the view has no such tool. `leftOut`: the filter of the view
 * leaves the tool out, or it waits for consent.
 */
type Missing = { readonly unknown: string[]; readonly leftOut: string[] }

/** The definition that a requested name means. Undefined if the request asks for a digest, and the definition has another one. */
function resolved(
  view: CatalogView,
  requested: string,
  { unknown, leftOut }: Missing,
): CatalogEntry | undefined {
  const { name, digest } = parseNameEntry(requested)
  const entry = view.resolve(name)
  if (!entry) (view.leavesOut(name) ? leftOut : unknown).push(name)
  return entry && (digest === undefined || digest === entry.digest) ? entry : undefined
}
