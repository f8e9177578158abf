import { readFile } from 'node:fs/promises'
import type { LayerRead, LayerSource } from '../../tools/catalog/layer-source.ts'

/** The file layer as one file, which the build has read and admitted. No schema is compiled. Only a deployment changes it. */
export function builtFileLayer(path: string): LayerSource {
  let loaded: Promise<LayerRead> | undefined
  return {
    async read(since) {
      const layer = await (loaded ??= readFile(path, 'utf8').then((text) => JSON.parse(text) as LayerRead))
      return layer.revision === since ? { ...layer, whole: false, definitions: [] } : layer
    },
  }
}
