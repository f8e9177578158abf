import { layeredDigest } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { ListQuery } from '../../catalog/views/list-query.ts'
import { matches, named } from '../../catalog/views/select-entries.ts'
import type { Pieces } from '../../loop-turn.ts'

/**
 * The names of the tools that the list leaves out because they are unavailable. A page names those of all pages, and a search
 * also those that `q` would not find.
 */
export function* unavailableTools(view: CatalogView, query: ListQuery): Pieces<readonly string[]> {
  const { unavailable } = query
  if (!unavailable || unavailable.size === 0) return []
  const names = new Set<string>()
  const wanted = { ...query, after: undefined, unavailable: undefined }
  for (const entry of query.names === 'all' ? view.candidates() : named(view, query.names).entries) {
    yield
    if (unavailable.has(layeredDigest(entry)) && matches(entry, wanted) && view.shows(entry))
      names.add(entry.name)
  }
  for (const entry of named(view, new Set(query.loaded)).entries)
    if (unavailable.has(layeredDigest(entry))) names.add(entry.name)
  return [...names]
}
