import type { DocumentReference } from 'firebase-admin/firestore'
import type { LayerSource, StoredLayer } from '../../catalog/views/layer-source.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { inTransaction } from './document-changes.ts'
import { ClientLayerReader, RestLayerReader } from './layer-readers.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError, unconfirmed } from './firestore-error.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import { STORE_DEADLINES, type StoreDeadlines } from './connect-firestore.ts'
import { layerDocument, layerSegments } from './layer-paths.ts'
import { Turns } from './turns.ts'
import type { LayerWrite } from '../../catalog/definitions/layer-write.ts'
import { RecordStore, type LayerRecords } from '../../catalog/definitions/record-store.ts'
import { FirestoreWrite } from './firestore-write.ts'
import { firestoreRecords } from './firestore-records.ts'

type FirestoreStoreParts = {
  readonly connection: FirestoreConnection
  readonly compilers: SchemaCompilers
  readonly deadlines?: StoreDeadlines
  readonly now?: () => number
}

/**
 * The store in the cloud. Each definition is a document. Each transaction that writes a definition also raises the layer's
 * revision.
 */
export class FirestoreDefinitionStore extends RecordStore {
  readonly #parts: FirestoreStoreParts
  readonly #deadlines: StoreDeadlines
  readonly #turns = new Turns()

  constructor(parts: FirestoreStoreParts) {
    super()
    this.#parts = parts
    this.#deadlines = parts.deadlines ?? STORE_DEADLINES
  }

  layer(layer: StoredLayer): LayerSource {
    const { connection, compilers, now = () => performance.now() } = this.#parts
    const { rest, calls } = connection
    return new FirestoreLayerSource({
      reader: rest
        ? new RestLayerReader(rest, layer)
        : new ClientLayerReader(() => this.#layerDocument(layer)),
      compilers,
      calls,
      deadlines: this.#deadlines,
      now,
    })
  }

  close(): Promise<void> {
    return this.#parts.connection.close()
  }

  protected async runWrite<Result>(layer: StoredLayer, layerWrite: LayerWrite<Result>): Promise<Result> {
    const { connection, compilers } = this.#parts
    const { turnMs, writeMs } = this.#deadlines
    let write: FirestoreWrite<Result> | undefined
    const act = (): Promise<Result> =>
      connection.calls.within(writeMs, async (signal) => {
        const document = await this.#layerDocument(layer)
        signal.throwIfAborted()
        const begun = new FirestoreWrite(document, layerWrite, compilers)
        write = begun
        return inTransaction(document.firestore, signal, (transaction) => begun.attempt(transaction))
      })
    try {
      // This process runs the writes of one layer one after the other. This costs less than transactions that fail because of
      // each other.
      return await this.#turns.take(layerSegments(layer).join('/'), turnMs, act)
    } catch (error) {
      throw write?.isUnconfirmed ? unconfirmed(error) : firestoreError(error)
    }
  }

  protected readRecords<T>(layer: StoredLayer, read: (records: LayerRecords) => T | Promise<T>): Promise<T> {
    const { calls } = this.#parts.connection
    const reading = calls.within(this.#deadlines.readMs, async () =>
      read(firestoreRecords(await this.#layerDocument(layer))),
    )
    return reading.catch((error: unknown) => {
      throw firestoreError(error)
    })
  }

  async #layerDocument(layer: StoredLayer): Promise<DocumentReference> {
    return layerDocument(await this.#parts.connection.client(), layer)
  }
}
