import type { DocumentReference } from 'firebase-admin/firestore'
import type { StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { LayerState } from '../../tools/records/layer-state.ts'
import type { FirestoreRest, RestElement } from './firestore-rest.ts'
import { ITEMS, itemsOf, layerSegments } from './layer-paths.ts'
import { restData, type RestDocument } from './rest-data.ts'
import { foundDocument, layerState, type FoundDocument } from './stored-documents.ts'

/** The state of a layer, and its items at the same moment. */
export type LayerLook = {
  readonly state: LayerState | undefined
  /** All items, or those with a higher revision, as they were at that moment. So a revision never means two contents. */
  readonly items: (signal: AbortSignal, above?: number) => Promise<readonly FoundDocument[]>
}

/** How the documents of one layer are read: by the client, or by REST without loading it. */
export interface LayerReader {
  /** Gets what every read needs. Never rejects. */
  readonly open?: () => Promise<void>
  /** Costs one read. When the signal is aborted, nobody waits for the answer any more. */
  readonly look: (signal: AbortSignal) => Promise<LayerLook>
}

/** Reads a layer by Firestore's client, which finds its credentials. The client's own deadlines end abandoned reads. */
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
    return { state: layerState(foundDocument(snapshot)), items }
  }
}

/** Reads a layer by REST. A new instance then lists without loading the client, which costs more than the rest of its start. */
export class RestLayerReader implements LayerReader {
  readonly #rest: FirestoreRest
  readonly #layer: readonly string[]

  constructor(rest: FirestoreRest, layer: StoredLayer) {
    this.#rest = rest
    this.#layer = layerSegments(layer)
  }

  async look(signal: AbortSignal): Promise<LayerLook> {
    const body = { documents: [this.#rest.name(this.#layer)] }
    const looked = await this.#rest.ask({
      at: [],
      method: 'batchGet',
      body,
      read: (element) => [element],
      signal,
    })
    const [{ found, readTime } = {}] = looked
    if (readTime === undefined) throw new Error('Firestore sent no time of the read')
    const state = layerState(found && restDocument(found))
    return { state, items: (itemsSignal, above) => this.#items(readTime, itemsSignal, above) }
  }

  #items(readTime: string, signal: AbortSignal, above?: number): Promise<readonly FoundDocument[]> {
    const value = { integerValue: String(above) }
    const isNewer = { fieldFilter: { field: { fieldPath: 'revision' }, op: 'GREATER_THAN', value } }
    const structuredQuery = {
      from: [{ collectionId: ITEMS }],
      ...(above !== undefined && { where: isNewer }),
    }
    const body = { structuredQuery, readTime }
    return this.#rest.ask({ at: this.#layer, method: 'runQuery', body, read: documentIn, signal })
  }
}

/** An answer without documents is one element that holds only the time. */
function documentIn({ document }: RestElement): FoundDocument[] {
  return document ? [restDocument(document)] : []
}

function restDocument({ name, fields, updateTime }: RestDocument): FoundDocument {
  return { id: name.slice(name.lastIndexOf('/') + 1), data: restData(fields), updatedAt: updateTime }
}
