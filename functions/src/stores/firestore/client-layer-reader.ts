import type { DocumentReference } from 'firebase-admin/firestore'
import { foundDocument } from './found-document.ts'
import type { FoundDocument } from './found-document.ts'
import { itemsOf } from './layer-paths.ts'
import type { LayerLook, LayerReader } from './layer-reader.ts'

/** Reads a layer by Firestore's client, with whatever credentials it finds. Its own deadlines end what nobody waits for. */
export class ClientLayerReader implements LayerReader {
  readonly #layer: () => Promise<DocumentReference>

  constructor(layer: () => Promise<DocumentReference>) {
    this.#layer = layer
  }

  async open(): Promise<void> {
    await this.#layer().catch(() => undefined)
  }

  async look(): Promise<LayerLook> {
    const layer = await this.#layer()
    const snapshot = await layer.get()
    const { readTime } = snapshot

    async function items(_signal: AbortSignal, above?: number): Promise<readonly FoundDocument[]> {
      const all = itemsOf(layer)
      const query = above === undefined ? all : all.where('revision', '>', above)
      const found = await layer.firestore.runTransaction((transaction) => transaction.get(query), {
        readOnly: true,
        readTime,
      })
      return found.docs.map(foundDocument)
    }
    return { document: foundDocument(snapshot), items }
  }
}
