import { LRUCache } from 'lru-cache'
import type { ListDefaults, ListQuery } from '../../catalog/views/list-query.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { askedNarrowing, type AskedListFilter } from './list-narrowing.ts'
import { LIST_NAMES, LIST_PARAMETERS, listQueryIn } from './list-parameters.ts'

/** The query of a list, parsed. `narrowing` has the session and the scopes that the request names. */
export type AskedQuery = { readonly query: ListQuery; readonly narrowing: AskedListFilter | undefined }

/** The most bytes of remembered queries, by an estimate. */
const QUERIES_BYTES_MAX = 8 * 1024 * 1024

/**
 * Reads the queries of lists. A client repeats its query before each call of its model. So each query is parsed once and
 * remembered.
 */
export class AskedLists {
  readonly #defaults: ListDefaults
  readonly #known = new LRUCache<string, AskedQuery>({
    maxSize: QUERIES_BYTES_MAX,
    sizeCalculation: (_asked, search) => 1_024 + 8 * search.length,
  })

  constructor(defaults: ListDefaults) {
    this.#defaults = defaults
  }

  /** `pathSession` is the session that the path of the request names. Throws PARAMETER_INVALID. */
  read(search: string, pathSession?: string): AskedQuery {
    const asked = this.#known.get(search) ?? this.#parsed(search)
    if (pathSession === undefined) return asked
    const { session, scopes = [] } = asked.narrowing ?? {}
    if (session !== undefined) throw invalidParameter('session', 'is named by the path already; leave it out')
    return { query: asked.query, narrowing: { session: pathSession, scopes } }
  }

  #parsed(search: string): AskedQuery {
    const query = new Query(search, LIST_PARAMETERS)
    const asked = {
      query: listQueryIn(query, LIST_NAMES, this.#defaults),
      narrowing: askedNarrowing(query),
    }
    this.#known.set(search, asked)
    return asked
  }
}
