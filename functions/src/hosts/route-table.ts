import type { TableRow } from '../http/route.ts'
import { agentRoutes } from '../features/agents/agent-routes.ts'
import { auditRoutes } from '../features/audit/audit-routes.ts'
import { approvalRoutes } from '../features/approvals/approval-routes.ts'
import { callRoutes } from '../features/calling/call-routes.ts'
import { changesRoute } from '../features/changes/changes-route.ts'
import { definitionRoutes } from '../features/definitions/definition-routes.ts'
import { folderRoutes } from '../features/folder/folder-routes.ts'
import { frontPageRoute } from '../features/health/front-page.ts'
import { healthRoute } from '../features/health/health-route.ts'
import { invocationRoutes } from '../features/invocations/invocation-routes.ts'
import { explainRoute, listRoutes } from '../features/list/list-tools.ts'
import { moduleRoutes } from '../features/modules/module-routes.ts'
import { ruleRoutes } from '../features/rules/rule-routes.ts'
import { sessionRoutes } from '../features/sessions/session-routes.ts'
import { scopeRoutes } from '../features/scopes/scope-routes.ts'
import type { RouteParts } from './route-parts.ts'
import { tokenRoute } from '../features/job-tokens/token-route.ts'
import { wrapRoute } from '../features/wrap/wrap-route.ts'

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
