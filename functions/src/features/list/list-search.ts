import type { FoundNote } from '@toolrack/contract'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { ListQuery } from '../../catalog/views/list-query.ts'
import { isFinder, matches, named } from '../../catalog/views/select-entries.ts'
import { listOrder, notesOf } from '../../catalog/search/found-list.ts'
import { invalidParameter, type Query } from '../../http/query.ts'
import type { ToolSearch } from '../../catalog/search/tool-search.ts'

/** The tools that the search of a list has found. `notes` is undefined if the query does not ask for scores. */
export type FoundList = {
  readonly entries: readonly CatalogEntry[]
  readonly notes: ReadonlyMap<CatalogEntry, FoundNote> | undefined
}

/**
 * The tools that the search in the query finds. Near-identical tools are joined under one of them, but never under a tool that
 * another filter of the query leaves out. Undefined for a query without a search. Ends when the signal is aborted.
 */
export async function foundList(
  { search }: { readonly search: ToolSearch },
  view: CatalogView,
  uid: string,
  query: ListQuery,
  signal: AbortSignal,
): Promise<FoundList | undefined> {
  if (query.q === undefined) return undefined
  const asked = query.names === 'all' ? undefined : new Set(named(view, query.names).entries)
  const found = await search.find(view, uid, query.q, {
    signal,
    only: (entry) => matches(entry, query) && (asked ? asked.has(entry) : !isFinder(entry)),
  })
  return { entries: listOrder(found), notes: query.explainsScores ? notesOf(found) : undefined }
}

/**
 * True if the parameter `explain` asks for the scores of a search. Throws PARAMETER_INVALID if the tools of the list cannot have
 * scores.
 */
export function explainsScoresIn(query: Query, { q, dialect, envelope, countsTokens }: ScoredList): boolean {
  if (query.optional('explain', ['scores']) === undefined) return false
  if (q === undefined) throw invalidParameter('explain', 'needs q, because only a search has scores')
  if (dialect !== undefined)
    throw invalidParameter(
      'explain',
      'cannot be used with dialect: a vendor takes no other keys; leave one out',
    )
  if (envelope === 'items')
    throw invalidParameter('explain', 'cannot be used with items; ask for envelope=array')
  if (countsTokens)
    throw invalidParameter('explain', 'cannot be used with budget or tokens, because no model reads scores')
  return true
}

type ScoredList = Pick<ListQuery, 'q' | 'dialect' | 'envelope' | 'countsTokens'>
