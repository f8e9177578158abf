import { isNotModified } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `GET /tools/modules/{module}`: a module with its source and what came of it. Its entity tag is the sha256 of the source. */
export async function getModule({
  services,
  principal,
  search,
  name,
  req,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const module = await services.modules.reader.module(principal, layer, name)
  const etag = `"${module.sha256}"`
  if (isNotModified(req.headers['if-none-match'], etag))
    res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
  else sendJson(res, 200, { ...module, layer }, { ETag: etag })
}
