import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'
import { objectBody } from './object-body.ts'

/** `PUT /tools/defs/{name}`: creates a definition or replaces it. */
export async function putDefinition({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const precondition = preconditionOf(req.headers)
  const sent = objectBody(await readBody(req, res, 'single'))
  const answer = await services.writer.put(principal, layer, name, sent, precondition)
  sendJson(res, answer.outcome === 'created' ? 201 : 200, answer, { ETag: `"${answer.digest}"` })
}
