import type { Layer } from '@toolrack/contract'
import { LAYERS, ToolrackError } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import type { WritableLayer } from '../definitions/definition-writer.ts'
import type { Query } from '../http/query.ts'

/** The layer that a read asks for. */
export function readLayer(query: Query): Layer {
  return query.choice('layer', LAYERS, 'user')
}

/** The layer that a write asks for; the file layer is changed by editing its files. */
export function writtenLayer(query: Query): WritableLayer {
  return query.choice('layer', ['user', 'global'], 'user')
}

/** A layer's last good state, or LAYER_UNAVAILABLE when there has been none. */
export function snapshotOf(view: CatalogView, layer: Layer): LayerSnapshot {
  const { snapshot } = view.layers[layer]
  if (!snapshot)
    throw new ToolrackError('LAYER_UNAVAILABLE', `The ${layer} layer could not be read; try again.`)
  return snapshot
}
