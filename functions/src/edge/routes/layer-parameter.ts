import type { Layer } from '@toolrack/contract'
import { LAYERS, ToolrackError } from '@toolrack/contract'
import type { Action } from '../../access/principal.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { LayerSnapshot } from '../../tools/catalog/layer-snapshot.ts'
import type { WritableLayer } from '../../tools/definitions/definition-writer.ts'
import type { Precondition } from '../../tools/definitions/precondition.ts'
import { preconditionOf } from '../http/entity-tag.ts'
import { Query } from '../http/query.ts'
import type { FoundRequest } from '../http/route.ts'

/** The layer that a read asks for. */
export function readLayer(query: Query): Layer {
  return query.choice('layer', LAYERS, 'user')
}

/** The layer that a write asks for; the file layer is changed by editing its files. */
export function writtenLayer(query: Query): WritableLayer {
  return query.choice('layer', ['user', 'global'], 'user')
}

/** For a route whose only parameter is a layer that can be written. */
export function askedLayer({ search }: FoundRequest): { readonly layer: WritableLayer } {
  return { layer: writtenLayer(new Query(search, ['layer'])) }
}

/** For a route that changes one thing of a layer. */
export function askedWrite(request: FoundRequest): {
  readonly layer: WritableLayer
  readonly precondition: Precondition
} {
  return { ...askedLayer(request), precondition: preconditionOf(request.req.headers) }
}

export function write({ layer }: { readonly layer: WritableLayer }): Action {
  return { verb: 'write', layer }
}

export function readModules({ layer }: { readonly layer: WritableLayer }): Action {
  return { verb: 'read-modules', layer }
}

/** A layer's last good state, or LAYER_UNAVAILABLE when there has been none. */
export function snapshotOf(view: CatalogView, layer: Layer): LayerSnapshot {
  const { snapshot } = view.layers[layer]
  if (!snapshot)
    throw new ToolrackError('LAYER_UNAVAILABLE', `The ${layer} layer could not be read; try again.`)
  return snapshot
}
