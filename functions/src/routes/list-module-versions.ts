import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `GET /tools/modules/{module}/versions`: what a module was, the newest first; a deletion is a version without content. */
export async function listModuleVersions({
  services,
  principal,
  search,
  name,
  res,
}: RouteRequest): Promise<void> {
  const layer = writtenLayer(new Query(search, ['layer']))
  const versions = await services.modules.reader.versions(principal, layer, name)
  const items = versions.map(({ sha256, ...version }) => ({
    ...version,
    deleted: sha256 === undefined,
    ...(sha256 !== undefined && { sha256 }),
  }))
  sendJson(res, 200, { name, layer, items })
}
