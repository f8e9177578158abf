import { readFile } from 'node:fs/promises'
import type { LayerRead, LayerSource } from '../../tools/catalog/layer-source.ts'

/** The file layer that the build has read and admitted: one file, and no schema to compile. Only a deployment changes it. */
export class BuiltFileLayer implements LayerSource {
  readonly #path: string
  #layer: Promise<LayerRead> | undefined

  constructor(path: string) {
    this.#path = path
  }

  async read(since?: string): Promise<LayerRead> {
    const layer = await (this.#layer ??= readLayer(this.#path))
    return layer.revision === since ? { ...layer, whole: false, definitions: [] } : layer
  }
}

async function readLayer(path: string): Promise<LayerRead> {
  return JSON.parse(await readFile(path, 'utf8')) as LayerRead
}
