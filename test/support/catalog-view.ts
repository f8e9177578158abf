import type { Layer, ToolDefinition } from '@toolrack/contract'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { CatalogView } from '../../functions/src/catalog/views/catalog-view.ts'
import type { LayerState } from '../../functions/src/catalog/views/layer-cache.ts'
import { LayerSnapshot } from '../../functions/src/catalog/views/layer-snapshot.ts'
import { put } from './definition-changes.ts'

type Layers = { readonly [L in Layer]?: readonly ToolDefinition[] | 'error' }

/** A catalog with these tools in its layers, which were written at one revision. A layer without tools is empty. */
export function catalogView(layers: Layers, stale: readonly Layer[] = [], revision = 'r'): CatalogView {
  function state(layer: Layer): LayerState {
    const tools = layers[layer] ?? []
    if (tools === 'error') return { status: 'error' }
    const definitions = tools.map((tool) => ({ ...put(tool), revision }))
    const read = { revision: `${layer}${tools.length}`, whole: true, definitions, deleted: [], skipped: [] }
    return {
      status: stale.includes(layer) ? 'stale' : 'fresh',
      snapshot: atOnce(LayerSnapshot.after(layer, undefined, read)),
    }
  }
  return new CatalogView({ user: state('user'), global: state('global'), file: state('file') })
}
