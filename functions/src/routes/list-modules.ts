import { PAGE_MAX } from '../catalog/list-query.ts'
import { invalidParameter, Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { isModuleName } from '../modules/module-name.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `GET /tools/modules`: the modules of one layer by name, without their sources and reports, a page at a time. */
export async function listModules({ services, principal, search, path, res }: RouteRequest): Promise<void> {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = writtenLayer(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  const after = query.one('cursor')
  if (after !== undefined && !isModuleName(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  // One more than is shown tells whether there is another page.
  const found = await services.modules.reader.modules(principal, layer, { after, limit: limit + 1 })
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const next = `<${path}?layer=${layer}&limit=${limit}&cursor=${last?.name}>; rel="next"`
  sendJson(res, 200, { layer, items }, found.length > limit ? { Link: next } : {})
}
