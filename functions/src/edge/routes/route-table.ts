import type { TableRow } from '../http/route.ts'
import { callRoutes, type CallParts } from './calls.ts'
import { definitionRoutes, type DefinitionParts } from './definitions.ts'
import { folderRoutes, type FolderParts } from './folder.ts'
import { healthRoute, type HealthParts } from './health.ts'
import { explainRoute, listRoute, type ListParts } from './list-tools.ts'
import { moduleRoutes, type ModuleParts } from './modules.ts'
import { tokenRoute, type TokenParts } from './tokens.ts'

export type RouteParts = ListParts &
  CallParts &
  DefinitionParts &
  ModuleParts &
  TokenParts &
  FolderParts &
  HealthParts

/** Every route. The list comes first, because it is requested before each call of a model. */
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
