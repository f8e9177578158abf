import type { JsonObject } from '@toolrack/contract'
import type { ListQuery } from './list-query.ts'
import { tokenSubject } from './token.ts'
import type { ListAnswer } from './tool-list.ts'

/** For how many sessions the selections are remembered. They are used while the service cannot be reached. */
const SELECTIONS_MAX = 100

/**
 * Remembers for each session which names or aliases its last complete list had. They limit local lists while the service cannot
 * be reached.
 */
export class Selections {
  readonly #known = new Map<string, ReadonlySet<string>>()

  keep(query: ListQuery, token: string, { list, isPartial }: ListAnswer): void {
    const { session, names, tags, categories, scopes, q } = query
    const isFiltered =
      names !== 'all' || q !== undefined || tags.length + categories.length + scopes.length > 0
    if (session === undefined || isPartial || isFiltered || (list.tokens?.dropped ?? 0) > 0) return
    const key = keyOf(session, token)
    this.#known.delete(key)
    this.#known.set(key, new Set(list.tools.flatMap(namesIn)))
    const [oldest] = this.#known.keys()
    if (this.#known.size > SELECTIONS_MAX && oldest !== undefined) this.#known.delete(oldest)
  }

  /**
   * The tools that the session of the query has selected. Undefined for a query without a session, and `unknown` if no list of
   * the session is remembered.
   */
  of({ session }: ListQuery, token: string): ReadonlySet<string> | 'unknown' | undefined {
    return session === undefined ? undefined : (this.#known.get(keyOf(session, token)) ?? 'unknown')
  }
}

function keyOf(session: string, token: string): string {
  return `${session} ${tokenSubject(token)}`
}

/** All names in one element of a list, whatever its dialect is. */
function namesIn(tool: JsonObject): readonly string[] {
  const named = tool as unknown as NamedTool
  const { functionDeclarations, function: described = named } = named
  return (functionDeclarations ?? [described]).map(({ name }) => name)
}

type Named = { readonly name: string }
type NamedTool = Named & { readonly functionDeclarations?: readonly Named[]; readonly function?: Named }
