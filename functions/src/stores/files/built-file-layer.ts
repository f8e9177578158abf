import { readFile } from 'node:fs/promises'
import type { LayerRead, LayerSource } from '../../tools/catalog/layer-source.ts'

/** The file layer as the build has read and admitted it: one file, no schema to compile. It changes with a deployment only. */
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
