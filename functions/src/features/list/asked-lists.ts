import { LRUCache } from 'lru-cache'
import type { ListDefaults, ListQuery } from '../../catalog/views/list-query.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { askedListFilter, type AskedListFilter } from './list-filter.ts'
import { LIST_NAMES, LIST_PARAMETERS, listQueryIn } from './list-parameters.ts'

/** The parsed query of a list. `listFilter` has the session and the scopes that the request names. */
export type AskedQuery = { readonly query: ListQuery; readonly listFilter: AskedListFilter | undefined }

/** The most bytes of remembered queries. The bytes of a query are estimated. */
const QUERIES_BYTES_MAX = 8 * 1024 * 1024

/** Parses the queries of lists. A client sends the same query before each call of its model, so a parsed query is remembered. */
export class AskedLists {
  readonly #defaults: ListDefaults
  readonly #known = new LRUCache<string, AskedQuery>({
    maxSize: QUERIES_BYTES_MAX,
    sizeCalculation: (_asked, search) => 1_024 + 8 * search.length,
  })

  constructor(defaults: ListDefaults) {
    this.#defaults = defaults
  }

  /**
   * Parses the query `search`. `pathSession` is the session in the path of the request, if there is one. Throws
   * PARAMETER_INVALID.
   */
  read(search: string, pathSession?: string): AskedQuery {
    const asked = this.#known.get(search) ?? this.#parsed(search)
    if (pathSession === undefined) return asked
    const { session, scopes = [] } = asked.listFilter ?? {}
    if (session !== undefined) throw invalidParameter('session', 'is named by the path already; leave it out')
    return { query: asked.query, listFilter: { session: pathSession, scopes } }
  }

  #parsed(search: string): AskedQuery {
    const query = new Query(search, LIST_PARAMETERS)
    const asked = {
      query: listQueryIn(query, LIST_NAMES, this.#defaults),
      listFilter: askedListFilter(query),
    }
    this.#known.set(search, asked)
    return asked
  }
}
