import { authorise } from '../access/authorise.ts'
import { refreshed } from '../folder/refreshed.ts'
import { refuseParameters } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'

/** `POST /api/tools/refresh`: reads the folder of modules anew, waits until everything is checked, and tells what has changed. */
export async function refreshFolder({ services, principal, search, res }: RouteRequest): Promise<void> {
  authorise(principal, { verb: 'refresh' })
  refuseParameters(search)
  sendJson(res, 200, await refreshed(services.folder, true))
}
