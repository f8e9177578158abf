import { ToolrackError } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import type { VersionChoice } from '../definitions/definition-writer.ts'
import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'
import { objectBody } from './object-body.ts'

/** `POST /tools/defs/{name}/rollback`: makes an older version the present one, also after a deletion. */
export async function rollbackDefinition({
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
  const answer = await services.writer.rollback(principal, layer, name, choice, precondition)
  sendJson(res, 200, answer, { ETag: `"${answer.digest}"` })
}

function versionChoice(body: JsonObject): VersionChoice {
  const { digest, revision, ...rest } = body
  const isOne = (digest === undefined) !== (revision === undefined) && Object.keys(rest).length === 0
  if (isOne && typeof digest === 'string') return { digest }
  if (isOne && typeof revision === 'string') return { revision }
  throw new ToolrackError(
    'BODY_INVALID',
    'The body must be {"digest": "sha256:…"} or {"revision": "…"}, as GET …/versions shows them.',
  )
}
