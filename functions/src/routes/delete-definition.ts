import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `DELETE /tools/defs/{name}`: removes a definition from a layer; its versions stay and can be rolled back to. */
export async function deleteDefinition({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const outcome = await services.writer.delete(principal, layer, name, preconditionOf(req.headers))
  sendJson(res, 200, { ...outcome, layer })
}
