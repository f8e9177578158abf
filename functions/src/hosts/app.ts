import type { RequestListener } from 'node:http'
import type { Family } from '../http/route.ts'
import { serveRoutes, type EdgeParts } from '../http/serve-routes.ts'
import type { RouteParts } from './route-parts.ts'
import { routeTable } from './route-table.ts'

/** Creates the whole service, which is the same for all hosts. A Cloud Function serves only one family, `direct`. */
export function createApp(parts: RouteParts & EdgeParts, direct?: Family): RequestListener {
  return serveRoutes(routeTable(parts), parts, direct)
}
