import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'
import { objectBody } from './object-body.ts'
import { versionChoice } from './version-choice.ts'

/** `POST /tools/modules/{module}/rollback`: checks an older source once more and makes it the present one, also after a deletion. */
export async function rollbackModule({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const precondition = preconditionOf(req.headers)
  const choice = versionChoice(objectBody(await readBody(req, res, 'single')), 'sha256', '…')
  const answer = await services.modules.writer.rollback(principal, { layer, name, choice, precondition })
  sendJson(res, 200, answer, { ETag: `"${answer.sha256}"` })
}
