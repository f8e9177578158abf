import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { TableRow } from '../http/route.ts'
import { callRoutes } from './calls.ts'
import type { CallParts } from './calls.ts'
import { definitionRoutes } from './definitions.ts'
import type { DefinitionParts } from './definitions.ts'
import { explainRoute } from './explain-tool.ts'
import { folderRoutes } from './folder.ts'
import type { FolderParts } from './folder.ts'
import { healthRoute } from './health.ts'
import type { HealthParts } from './health.ts'
import { listRoute } from './list-tools.ts'
import type { ListParts } from './list-tools.ts'
import { moduleRoutes } from './modules.ts'
import type { ModuleParts } from './modules.ts'
import { tokenRoute } from './tokens.ts'
import type { TokenParts } from './tokens.ts'

/** What the handlers of all routes work with. */
export type RouteParts = ListParts &
  CallParts &
  DefinitionParts &
  ModuleParts &
  TokenParts &
  FolderParts &
  HealthParts & { readonly catalog: Catalog }

/** Every route; the list first, for it is asked for before each model call. */
export function routeTable(parts: RouteParts): readonly TableRow[] {
  return [
    listRoute(parts),
    ...callRoutes(parts),
    explainRoute(parts),
    ...definitionRoutes(parts),
    ...moduleRoutes(parts),
    tokenRoute(parts),
    ...folderRoutes(parts),
    healthRoute(parts),
  ]
}
