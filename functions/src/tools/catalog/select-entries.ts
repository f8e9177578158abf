import { parseNameEntry, ToolrackError } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { inOrder, PAGE_MAX, type ListQuery } from './list-query.ts'

export type Listed = Pick<CatalogEntry, 'fragment' | 'workflowName' | 'callable'>

/** UTF-8 bytes that one answer may have. */
export const ANSWER_BYTES_MAX = 25 * 1024 * 1024

/** Bytes of an answer that a page reserves for commas and workflow names. */
const ENVELOPE_BYTES = 1024 * 1024

/**
 * Selects the entries of a catalog that a query asks for. If the query has names, only these are looked up, so the size of
 * the catalog makes no difference. `isOmitted` says which entries are left out of the list before `shape` sees them. `shape` makes
 * the listed form of an entry, or returns undefined to quarantine it.
 * `unknown` has the requested names for which there is no visible tool. `hasMore` is true if the page is full.
 */
export function selectEntries(
  view: CatalogView,
  query: ListQuery,
  isOmitted: (entry: CatalogEntry) => boolean,
  shape: (entry: CatalogEntry) => Listed | undefined,
) {
  const { entries, unknown } =
    query.names === 'all' ? { entries: view.entries(query.after), unknown: [] } : named(view, query.names)
  const listed: Listed[] = []
  const quarantined: string[] = []
  const omitted: string[] = []
  let last: CatalogEntry | undefined
  let bytes = 0
  const bytesMax = query.limit === undefined ? ANSWER_BYTES_MAX : ANSWER_BYTES_MAX - ENVELOPE_BYTES
  for (const entry of entries) {
    if (!matches(entry, query)) continue
    if (listed.length === query.limit) return { listed, quarantined, omitted, last, unknown, hasMore: true }
    if (isOmitted(entry)) {
      omitted.push(entry.name)
      last = entry
      continue
    }
    const one = shape(entry)
    bytes += one?.fragment.length ?? 0
    if (bytes > bytesMax) {
      // The list is already too large for an answer, so no more fragments are made.
      if (query.limit === undefined) throw answerTooLarge()
      return { listed, quarantined, omitted, last, unknown, hasMore: true }
    }
    if (one) listed.push(one)
    else quarantined.push(entry.name)
    last = entry
  }
  return { listed, quarantined, omitted, last, unknown, hasMore: false }
}

export function answerTooLarge(): ToolrackError {
  return new ToolrackError(
    'ANSWER_TOO_LARGE',
    `The list has more than the ${ANSWER_BYTES_MAX} bytes that an answer may have; page it with limit (at most ${PAGE_MAX}) and cursor.`,
  )
}

/** True for an entry with one of the tags and one of the categories, after the position. */
export function matches(
  entry: CatalogEntry,
  { tags, categories, after }: Pick<ListQuery, 'tags' | 'categories' | 'after'>,
): boolean {
  return (
    (after === undefined || inOrder(entry, after) > 0) &&
    (tags.size === 0 || entry.tags.some((tag) => tags.has(tag))) &&
    (categories.size === 0 || (entry.category !== undefined && categories.has(entry.category)))
  )
}

/** The visible entries with these names, and the names that no visible tool has. */
export function named(view: CatalogView, names: ReadonlySet<string>) {
  const found = new Set<CatalogEntry>()
  const unknown: string[] = []
  for (const requested of names) {
    const { name, digest } = parseNameEntry(requested)
    const entry = view.resolve(name)
    if (!entry) unknown.push(name)
    else if (digest === undefined || digest === entry.digest) found.add(entry)
  }
  return { entries: [...found].toSorted(inOrder), unknown }
}
