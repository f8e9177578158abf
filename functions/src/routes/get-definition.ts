import { ToolrackError } from '@toolrack/contract'
import { isNotModified } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { definitionBody } from './definition-body.ts'
import { readLayer, snapshotOf } from './layer-parameter.ts'

/** `GET /tools/defs/{name}`: one definition of one layer, as it was written. Its entity tag is its digest. */
export async function getDefinition({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = readLayer(new Query(search, ['layer']))
  const view = await services.catalog.view(principal)
  const entry = snapshotOf(view, layer).byName.get(name)
  if (!entry) throw new ToolrackError('TOOL_NOT_FOUND')
  const etag = `"${entry.digest}"`
  if (isNotModified(req.headers['if-none-match'], etag))
    res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
  else sendJson(res, 200, definitionBody(entry), { ETag: etag })
}
