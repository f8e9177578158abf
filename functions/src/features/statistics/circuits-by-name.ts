import type { Principal } from '../../access/principal.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import { EVERYBODY } from '../../documents/collection.ts'
import type { CircuitState } from './tool-statistics.ts'

/** The circuit breakers of tools, for each user. */
export type CircuitStates = {
  readonly of: (uid: string, tool: CatalogEntry) => { readonly state: CircuitState }
}

/**
 * Returns a function that finds the state of a tool's circuit for the principal. It returns null for a tool that the principal
 * does not see, and for all tools if the statistics are those of another user, because a name means a definition only in the view
 * of a user.
 */
export async function circuitsByName(
  {
    listed,
    circuits,
  }: { readonly listed: Pick<ListedCatalog, 'view'>; readonly circuits?: CircuitStates | undefined },
  principal: Principal,
  owner: string,
): Promise<(name: string) => CircuitState | null> {
  if (!circuits || (owner !== principal.uid && owner !== EVERYBODY)) return () => null
  const view = await listed.view(principal)
  return (name) => {
    const entry = view.resolve(name)
    return entry ? circuits.of(principal.uid, entry).state : null
  }
}
