import type { DocumentReference } from 'firebase-admin/firestore'
import type { StoredLayer } from '../../catalog/views/layer-source.ts'
import type { LayerState } from '../../catalog/definitions/layer-state.ts'
import type { FirestoreRest, RestElement } from './firestore-rest.ts'
import { ITEMS, itemsOf, layerSegments } from './layer-paths.ts'
import { restData, type RestDocument } from './rest-data.ts'
import { foundDocument, layerState, type FoundDocument } from './stored-documents.ts'

/** A layer as it was at one moment. */
export type LayerAtMoment = {
  readonly state: LayerState | undefined
  /**
   * Reads the items as they were when `state` was read: all items, or only those with a revision above `above`. So a revision
   * always means the same content.
   */
  readonly items: (signal: AbortSignal, above?: number) => Promise<readonly FoundDocument[]>
}

/** Reads the documents of one layer. There are two ways: by Firestore's client, or by REST, which does not load the client. */
export interface LayerReader {
  /** Prepares the reads. Never rejects. */
  readonly open?: () => Promise<void>
  /** Reads the layer's own document. When the signal is aborted, nobody waits for the answer any more. */
  readonly read: (signal: AbortSignal) => Promise<LayerAtMoment>
}

/**
 * Reads a layer by Firestore's client. The client finds its credentials by itself. Its deadlines end reads for which nobody
 * waits.
 */
export class ClientLayerReader implements LayerReader {
  readonly #layer: () => Promise<DocumentReference>

  constructor(layer: () => Promise<DocumentReference>) {
    this.#layer = layer
  }

  async open(): Promise<void> {
    await this.#layer().catch(() => undefined)
  }

  async read(): Promise<LayerAtMoment> {
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

/** Reads a layer by REST, without loading the client, which takes longer than the rest of the start of an instance. */
export class RestLayerReader implements LayerReader {
  readonly #rest: FirestoreRest
  readonly #layer: readonly string[]

  constructor(rest: FirestoreRest, layer: StoredLayer) {
    this.#rest = rest
    this.#layer = layerSegments(layer)
  }

  async read(signal: AbortSignal): Promise<LayerAtMoment> {
    const [{ found, readTime } = {}] = await this.#rest.ask({
      at: [],
      method: 'batchGet',
      body: { documents: [this.#rest.name(this.#layer)] },
      read: (element) => [element],
      signal,
    })
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

/** The document in an element. An answer without documents is one element that has only the time of the read. */
function documentIn({ document }: RestElement): FoundDocument[] {
  return document ? [restDocument(document)] : []
}

function restDocument({ name, fields, updateTime }: RestDocument): FoundDocument {
  return { id: name.slice(name.lastIndexOf('/') + 1), data: restData(fields), updatedAt: updateTime }
}
