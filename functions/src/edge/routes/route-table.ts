import type { TableRow } from '../http/route.ts'
import { agentRoutes } from './agents.ts'
import { auditRoutes } from './audit.ts'
import { approvalRoutes } from './approvals.ts'
import { callRoutes } from './calls.ts'
import { changesRoute } from './changes.ts'
import { definitionRoutes } from './definitions.ts'
import { folderRoutes } from './folder.ts'
import { frontPageRoute } from './front-page.ts'
import { healthRoute } from './health.ts'
import { invocationRoutes } from './invocations.ts'
import { explainRoute, listRoutes } from './list-tools.ts'
import { moduleRoutes } from './modules.ts'
import { ruleRoutes } from './rules.ts'
import { sessionRoutes } from './sessions.ts'
import { scopeRoutes } from './scopes.ts'
import type { RouteParts } from './route-parts.ts'
import { tokenRoute } from './tokens.ts'
import { wrapRoute } from './wrap.ts'

/** Every route. The route that lists tools comes first, because it is requested before each call of a model. */
export function routeTable(parts: RouteParts): readonly TableRow[] {
  return [
    ...listRoutes(parts),
    ...callRoutes(parts),
    ...approvalRoutes(parts),
    ...invocationRoutes(parts),
    explainRoute(parts),
    changesRoute(parts),
    wrapRoute(parts),
    ...definitionRoutes(parts),
    ...moduleRoutes(parts),
    tokenRoute(parts),
    ...sessionRoutes(parts),
    ...ruleRoutes(parts),
    ...scopeRoutes(parts),
    ...auditRoutes(parts),
    ...agentRoutes(parts),
    ...folderRoutes(parts),
    healthRoute(parts),
    frontPageRoute(parts),
  ]
}
