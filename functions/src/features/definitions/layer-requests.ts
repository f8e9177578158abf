import { LAYERS, type JsonObject, type Layer } from '@toolrack/contract'
import { onLayer, type Action } from '../../access/action.ts'
import { PAGE_MAX } from '../../catalog/views/list-query.ts'
import type { WritableLayer } from '../../catalog/definitions/definition-writer.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { Query } from '../../http/query.ts'
import { bodyInvalid } from '../../http/read-body.ts'
import { callerGone } from '../../http/caller.ts'
import type { FoundRequest, KnownRequest } from '../../http/route.ts'

export function readLayer(query: Query): Layer {
  return query.choice('layer', LAYERS, 'user')
}

/** The layer that a request writes. No request can write the file layer: authors edit its files. */
export function writtenLayer(query: Query): WritableLayer {
  return query.choice('layer', ['user', 'global'], 'user')
}

export function askedLayer({ search }: FoundRequest): { readonly layer: WritableLayer } {
  return { layer: writtenLayer(new Query(search, ['layer'])) }
}

export function askedWrite(request: FoundRequest) {
  return { precondition: preconditionOf(request.req.headers), ...askedLayer(request) }
}

export function targetOf({ asked, params, res }: KnownRequest<'/:name', ReturnType<typeof askedWrite>>) {
  return { ...asked, name: params.name, signal: callerGone(res) }
}

/** Reads the query for a page of a layer's definitions or modules. `cursor` is not checked yet. */
export function pageQuery<L extends Layer>({ search }: FoundRequest, layerOf: (query: Query) => L) {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = layerOf(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  return { layer, limit, cursor: query.one('cursor') }
}

/** The `Link` header with the address of the next page. The last page has no cursor and no header. */
export function nextPage(
  path: string,
  layer: Layer,
  limit: number,
  cursor: string | undefined,
): Record<string, string> {
  if (cursor === undefined) return {}
  return { Link: `<${path}?layer=${layer}&limit=${limit}&cursor=${cursor}>; rel="next"` }
}

export function write({ layer }: { readonly layer: WritableLayer }): Action {
  return onLayer('write', layer)
}

/** Reads the body of a rollback. It names an earlier version by a revision, or by a digest in the field `digestField`. */
export function versionChoice<Field extends string>(
  body: JsonObject,
  digestField: Field,
  example: string,
): Record<Field, string> | { readonly revision: string } {
  const { [digestField]: digest, revision, ...rest } = body
  const isOne = (digest === undefined) !== (revision === undefined) && Object.keys(rest).length === 0
  if (isOne && typeof digest === 'string') return { [digestField]: digest } as Record<Field, string>
  if (isOne && typeof revision === 'string') return { revision }
  const shapes = `{"${digestField}": "${example}"} or {"revision": "…"}`
  throw bodyInvalid(`The body must be ${shapes}, as GET …/versions shows them.`)
}
