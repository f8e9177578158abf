import type { Principal } from '../../access/principal.ts'
import type { CatalogView } from './catalog-view.ts'
import type { CallingSession } from './session-selection.ts'

/** The catalog without the tools that rules hide. `view` returns a promise only if something has to be read. */
export type ListedCatalog = {
  readonly view: (principal: Principal, session?: CallingSession) => CatalogView | Promise<CatalogView>
}
