import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'
import { moduleSource } from './module-source.ts'

/** `PUT /tools/modules/{module}`: checks a Python file, and makes its tools the module's definitions. */
export async function putModule({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const precondition = preconditionOf(req.headers)
  const source = await moduleSource(req, res)
  const answer = await services.modules.writer.put(principal, { layer, name, source, precondition })
  sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.sha256}"` })
}
