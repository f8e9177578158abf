import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `DELETE /tools/modules/{module}`: removes a module and all of its tools; its versions stay and can be rolled back to. */
export async function deleteModule({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  sendJson(
    res,
    200,
    await services.modules.writer.delete(principal, layer, name, preconditionOf(req.headers)),
  )
}
