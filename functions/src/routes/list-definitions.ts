import { PAGE_MAX } from '../catalog/list-query.ts'
import { readCursor, writeCursor } from '../catalog/cursor.ts'
import { invalidParameter, Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { definitionBody } from './definition-body.ts'
import { readLayer, snapshotOf } from './layer-parameter.ts'

/** `GET /tools/defs`: the definitions of one layer as they were written, by name, a page at a time. */
export async function listDefinitions({
  services,
  principal,
  search,
  path,
  res,
}: RouteRequest): Promise<void> {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = readLayer(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  const cursor = query.one('cursor')
  const after = cursor === undefined ? undefined : readCursor(cursor)
  if (cursor !== undefined && after?.layer !== layer) {
    throw invalidParameter(
      'cursor',
      'is not one that this service gave for this layer; take it from the Link header',
    )
  }
  const { sorted, revision } = snapshotOf(await services.catalog.view(principal), layer)
  const rest = after ? sorted.filter((entry) => entry.name > after.name) : sorted
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rest.length > page.length && last !== undefined
  const next = hasMore
    ? `<${path}?layer=${layer}&limit=${limit}&cursor=${writeCursor(last)}>; rel="next"`
    : undefined
  sendJson(res, 200, { layer, revision, items: page.map(definitionBody) }, next ? { Link: next } : {})
}
