import { readFile } from 'node:fs/promises'
import type { LayerRead, LayerSource } from '../../catalog/views/layer-source.ts'

/**
 * The file layer of a build. It is read from the file that the build wrote. The build has admitted the definitions, so no schema
 * is compiled here.
 */
export function builtFileLayer(path: string): LayerSource {
  // The content of the file. It is read once, because only a deployment changes the file.
  let loaded: Promise<LayerRead> | undefined
  return {
    async read(since) {
      const layer = await (loaded ??= readFile(path, 'utf8').then((text) => JSON.parse(text) as LayerRead))
      return layer.revision === since ? { ...layer, whole: false, definitions: [] } : layer
    },
  }
}
