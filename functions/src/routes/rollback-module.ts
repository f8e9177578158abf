import type { JsonObject } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { ModuleVersionChoice } from '../modules/module-reader.ts'
import { writtenLayer } from './layer-parameter.ts'
import { objectBody } from './object-body.ts'

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
  const choice = versionChoice(objectBody(await readBody(req, res, 'single')))
  const answer = await services.modules.writer.rollback(principal, { layer, name, choice, precondition })
  sendJson(res, 200, answer, { ETag: `"${answer.sha256}"` })
}

function versionChoice(body: JsonObject): ModuleVersionChoice {
  const { sha256, revision, ...rest } = body
  const isOne = (sha256 === undefined) !== (revision === undefined) && Object.keys(rest).length === 0
  if (isOne && typeof sha256 === 'string') return { sha256 }
  if (isOne && typeof revision === 'string') return { revision }
  throw new ToolrackError(
    'BODY_INVALID',
    'The body must be {"sha256": "…"} or {"revision": "…"}, as GET …/versions shows them.',
  )
}
