import { LAYERS, type JsonObject, type Layer } from '@toolrack/contract'
import type { Action } from '../../access/principal.ts'
import { PAGE_MAX } from '../../tools/catalog/list-query.ts'
import type { WritableLayer } from '../../tools/definitions/definition-writer.ts'
import type { Precondition } from '../../tools/definitions/definition-change.ts'
import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import { bodyInvalid } from '../http/read-body.ts'
import type { FoundRequest } from '../http/route.ts'

export function readLayer(query: Query): Layer {
  return query.choice('layer', LAYERS, 'user')
}

/** The layer of a write. The file layer is changed by editing its files. */
export function writtenLayer(query: Query): WritableLayer {
  return query.choice('layer', ['user', 'global'], 'user')
}

export function askedLayer({ search }: FoundRequest): { readonly layer: WritableLayer } {
  return { layer: writtenLayer(new Query(search, ['layer'])) }
}

export function askedWrite(request: FoundRequest) {
  const precondition: Precondition = preconditionOf(request.req.headers)
  return { ...askedLayer(request), precondition }
}

/** Reads the query of a list of a layer's contents, a page at a time. `cursor` is not checked yet. */
export function pageQuery<L extends Layer>({ search }: FoundRequest, layerOf: (query: Query) => L) {
  const query = new Query(search, ['layer', 'limit', 'cursor'])
  const layer = layerOf(query)
  const limit = query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX
  return { layer, limit, cursor: query.one('cursor') }
}

/** The header with the `Link` to the next page. After the last page there is no cursor and no header. */
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
  return { verb: 'write', layer }
}

/** The version that the body of a rollback names: by its revision, or by its digest in the field `digestField`. */
export function versionChoice<Field extends string>(
  body: JsonObject,
  digestField: Field,
  example: string,
): { readonly [field in Field]: string } | { readonly revision: string } {
  const { [digestField]: digest, revision, ...rest } = body
  const isOne = (digest === undefined) !== (revision === undefined) && Object.keys(rest).length === 0
  if (isOne && typeof digest === 'string')
    return { [digestField]: digest } as { readonly [field in Field]: string }
  if (isOne && typeof revision === 'string') return { revision }
  const shapes = `{"${digestField}": "${example}"} or {"revision": "…"}`
  throw bodyInvalid(`The body must be ${shapes}, as GET …/versions shows them.`)
}
