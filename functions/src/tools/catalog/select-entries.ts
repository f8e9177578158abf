import { LAYERS, parseNameEntry, ToolrackError } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { isAfter } from './cursor.ts'
import type { ListQuery } from './list-query.ts'

/** What of an entry is sent. */
export type Listed = Pick<CatalogEntry, 'fragment' | 'workflowName'>

/** The entry as it is sent in a list; undefined for one that is not sent. */
export type Shape = (entry: CatalogEntry) => Listed | undefined

export type Selection = {
  /** In the catalog's order. */
  readonly listed: readonly Listed[]
  /** The last entry that was looked at, sent or not. */
  readonly last: CatalogEntry | undefined
  /** Requested names that no visible tool has. */
  readonly unknown: readonly string[]
  /** Whether the page ended before the selection did. */
  readonly hasMore: boolean
}

/** UTF-8 bytes that one answer may have. */
export const ANSWER_BYTES_MAX = 25 * 1024 * 1024

/** What a page leaves free for commas and workflow names. */
const ENVELOPE_BYTES = 1024 * 1024

/** What a query selects from a catalog. With names it looks up just those, however large the catalog is. */
export function selectEntries(view: CatalogView, query: ListQuery, shape: Shape = asItIs): Selection {
  const { entries, unknown } =
    query.names === 'all' ? { entries: view.entries(query.after), unknown: [] } : named(view, query.names)
  const page: Listed[] = []
  let last: CatalogEntry | undefined
  let bytes = 0
  for (const entry of entries) {
    if (!matches(entry, query)) continue
    if (page.length === query.limit) return { listed: page, last, unknown, hasMore: true }
    const listed = shape(entry)
    if (listed) {
      bytes += listed.fragment.length
      // Said before more is made that no answer has room for.
      if (query.limit === undefined && bytes > ANSWER_BYTES_MAX) throw answerTooLarge()
      const isFull = query.limit !== undefined && bytes > ANSWER_BYTES_MAX - ENVELOPE_BYTES
      if (isFull) return { listed: page, last, unknown, hasMore: true }
      page.push(listed)
    }
    last = entry
  }
  return { listed: page, last, unknown, hasMore: false }
}

export function answerTooLarge(): ToolrackError {
  return new ToolrackError(
    'ANSWER_TOO_LARGE',
    `The list has more than the ${ANSWER_BYTES_MAX} bytes that an answer may have; page it with limit (at most 1000) and cursor.`,
  )
}

function asItIs(entry: CatalogEntry): Listed {
  return entry
}

function matches(entry: CatalogEntry, { tags, categories, after }: ListQuery): boolean {
  return (
    (after === undefined || isAfter(entry, after)) &&
    (tags.size === 0 || entry.tags.some((tag) => tags.has(tag))) &&
    (categories.size === 0 || (entry.category !== undefined && categories.has(entry.category)))
  )
}

function named(
  view: CatalogView,
  names: ReadonlySet<string>,
): { entries: readonly CatalogEntry[]; unknown: readonly string[] } {
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

function inOrder(a: CatalogEntry, b: CatalogEntry): number {
  return LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer) || (a.name < b.name ? -1 : 1)
}
