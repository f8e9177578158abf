import type { RequestListener } from 'node:http'
import type { Family } from './http/route.ts'
import { serveRoutes } from './http/serve-routes.ts'
import { routeTable } from './routes/route-table.ts'
import type { Services } from './services.ts'

/** The whole service: the same for the embedded server and for Cloud Functions, of which each serves one family, `direct`. */
export function createApp(services: Services, direct?: Family): RequestListener {
  return serveRoutes(routeTable(services), services, direct)
}
