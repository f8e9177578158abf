import type { TableRow } from '../http/route.ts'
import { callRoutes } from './calls.ts'
import type { CallParts } from './calls.ts'
import { definitionRoutes } from './definitions.ts'
import type { DefinitionParts } from './definitions.ts'
import { folderRoutes } from './folder.ts'
import type { FolderParts } from './folder.ts'
import { healthRoute } from './health.ts'
import type { HealthParts } from './health.ts'
import { explainRoute, listRoute } from './list-tools.ts'
import type { ListParts } from './list-tools.ts'
import { moduleRoutes } from './modules.ts'
import type { ModuleParts } from './modules.ts'
import { tokenRoute } from './tokens.ts'
import type { TokenParts } from './tokens.ts'

export type RouteParts = ListParts &
  CallParts &
  DefinitionParts &
  ModuleParts &
  TokenParts &
  FolderParts &
  HealthParts

/** Every route. The list comes first, because it is asked for before each call of a model. */
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
