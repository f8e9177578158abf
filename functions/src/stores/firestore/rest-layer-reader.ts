import type { StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { FirestoreRest, RestElement } from './firestore-rest.ts'
import type { FoundDocument } from './found-document.ts'
import { ITEMS, layerSegments } from './layer-paths.ts'
import type { LayerLook, LayerReader } from './layer-reader.ts'
import { restData } from './rest-data.ts'
import type { RestDocument } from './rest-data.ts'

/** Reads a layer by REST: a new instance lists without loading the client, which costs more than all the rest of its start. */
export class RestLayerReader implements LayerReader {
  readonly #rest: FirestoreRest
  readonly #layer: readonly string[]

  constructor(rest: FirestoreRest, layer: StoredLayer) {
    this.#rest = rest
    this.#layer = layerSegments(layer)
  }

  async look(signal: AbortSignal): Promise<LayerLook> {
    const body = { documents: [this.#rest.name(this.#layer)] }
    const looked = await this.#rest.ask({ at: [], method: 'batchGet', body, read: whole, signal })
    const [{ found, readTime } = {}] = looked
    if (readTime === undefined) throw new Error('Firestore did not say when it was looked at')
    const document = found ? foundDocument(found) : { id: 'defs', data: undefined, updatedAt: '' }
    return { document, items: (itemsSignal, above) => this.#items(readTime, itemsSignal, above) }
  }

  #items(readTime: string, signal: AbortSignal, above?: number): Promise<readonly FoundDocument[]> {
    const value = { integerValue: String(above) }
    const isNewer = { fieldFilter: { field: { fieldPath: 'revision' }, op: 'GREATER_THAN', value } }
    const structuredQuery = {
      from: [{ collectionId: ITEMS }],
      ...(above !== undefined && { where: isNewer }),
    }
    const body = { structuredQuery, readTime }
    return this.#rest.ask({ at: this.#layer, method: 'runQuery', body, read: documentOf, signal })
  }
}

function whole(element: RestElement): [RestElement] {
  return [element]
}

/** An answer without documents is one element that tells only the time. */
function documentOf({ document }: RestElement): FoundDocument[] {
  return document ? [foundDocument(document)] : []
}

function foundDocument({ name, fields, updateTime }: RestDocument): FoundDocument {
  return { id: name.slice(name.lastIndexOf('/') + 1), data: restData(fields), updatedAt: updateTime }
}
