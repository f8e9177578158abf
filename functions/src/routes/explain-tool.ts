import { explainName } from '../catalog/explain-name.ts'
import { invalidParameter, Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { isToolName } from '@toolrack/contract'

/** `GET /tools/explain`: what each layer says of a name, and which definition wins. */
export async function explainTool({ services, principal, search, res }: RouteRequest): Promise<void> {
  const name = new Query(search, ['name']).required('name')
  if (!isToolName(name)) throw invalidParameter('name', 'must be one tool name or alias')
  const view = await services.catalog.view(principal)
  sendJson(res, 200, explainName(view, name))
}
