import type { Route } from '../http/route.ts'
import { deleteDefinition } from './delete-definition.ts'
import { deleteModule } from './delete-module.ts'
import { dispatchCalls } from './dispatch-calls.ts'
import { explainTool } from './explain-tool.ts'
import { getDefinition } from './get-definition.ts'
import { getFolderTool } from './get-folder-tool.ts'
import { getModule } from './get-module.ts'
import { getLog } from './get-log.ts'
import { invokeTool } from './invoke-tool.ts'
import { listDefinitions } from './list-definitions.ts'
import { listFolderTools } from './list-folder-tools.ts'
import { listModuleVersions } from './list-module-versions.ts'
import { listModules } from './list-modules.ts'
import { listTools } from './list-tools.ts'
import { listVersions } from './list-versions.ts'
import { mintToken } from './mint-token.ts'
import { postDefinitions } from './post-definitions.ts'
import { putDefinition } from './put-definition.ts'
import { putModule } from './put-module.ts'
import { refreshFolder } from './refresh-folder.ts'
import { rollbackDefinition } from './rollback-definition.ts'
import { rollbackModule } from './rollback-module.ts'

/** Every route of `/workflows` and `/jobs`; the list first, for it is asked for before each model call. */
export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/tools/list', handle: listTools },
  { method: 'POST', path: '/tools/invoke', handle: invokeTool },
  { method: 'POST', path: '/tools/dispatch', handle: dispatchCalls },
  { method: 'GET', path: '/tools/invocations/:id/log', handle: getLog },
  { method: 'GET', path: '/tools/explain', handle: explainTool },
  { method: 'GET', path: '/tools/defs', handle: listDefinitions },
  { method: 'POST', path: '/tools/defs', handle: postDefinitions },
  { method: 'GET', path: '/tools/defs/:name', handle: getDefinition },
  { method: 'PUT', path: '/tools/defs/:name', handle: putDefinition },
  { method: 'DELETE', path: '/tools/defs/:name', handle: deleteDefinition },
  { method: 'GET', path: '/tools/defs/:name/versions', handle: listVersions },
  { method: 'POST', path: '/tools/defs/:name/rollback', handle: rollbackDefinition },
  { method: 'GET', path: '/tools/modules', handle: listModules },
  { method: 'GET', path: '/tools/modules/:name', handle: getModule },
  { method: 'PUT', path: '/tools/modules/:name', handle: putModule },
  { method: 'DELETE', path: '/tools/modules/:name', handle: deleteModule },
  { method: 'GET', path: '/tools/modules/:name/versions', handle: listModuleVersions },
  { method: 'POST', path: '/tools/modules/:name/rollback', handle: rollbackModule },
  { method: 'POST', path: '/jobs/tokens', handle: mintToken },
]

/** Every route of `/api`, for users: what the folder of modules holds. */
export const API_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/tools', handle: listFolderTools },
  { method: 'POST', path: '/tools/refresh', handle: refreshFolder },
  { method: 'GET', path: '/tools/:name', handle: getFolderTool },
]
