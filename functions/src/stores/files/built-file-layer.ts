import { readFile } from 'node:fs/promises'
import type { LayerRead, LayerSource } from '../../catalog/views/layer-source.ts'

/**
 * The file layer that the build has written into a file. The build has admitted the definitions, so no schema is compiled here.
 */
export function builtFileLayer(path: string): LayerSource {
  // What the file contains. It is read only once, because only a deployment changes the file.
  let loaded: Promise<LayerRead> | undefined
  return {
    async read(since) {
      const layer = await (loaded ??= readFile(path, 'utf8').then((text) => JSON.parse(text) as LayerRead))
      return layer.revision === since ? { ...layer, whole: false, definitions: [] } : layer
    },
  }
}
