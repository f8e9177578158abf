import type { DocumentReference, Transaction } from 'firebase-admin/firestore'
import type { LayerSource, StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { ClientLayerReader, RestLayerReader } from './layer-readers.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { errorOfRead, firestoreError, unconfirmed } from './firestore-error.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import { STORE_DEADLINES, type StoreDeadlines } from './connect-firestore.ts'
import { layerDocument, layerSegments } from './layer-paths.ts'
import { Turns } from './turns.ts'
import type { LayerWrite } from '../../tools/records/layer-write.ts'
import { RecordStore, type LayerRecords } from '../../tools/records/record-store.ts'
import { FirestoreWrite } from './firestore-write.ts'
import { firestoreRecords } from './firestore-records.ts'

/** The most attempts of one write, because writers of a layer compete for its revision. After the last: STORE_BUSY. */
const ATTEMPTS_MAX = 20

type FirestoreStoreParts = {
  readonly connection: FirestoreConnection
  readonly compilers: SchemaCompilers
  readonly deadlines?: StoreDeadlines
  readonly now?: () => number
}

/** The store in the cloud. Each definition is a document. A transaction that writes a definition raises the layer's revision. */
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
        write = new FirestoreWrite(document, layerWrite, compilers)
        return attempt(document, write, signal)
      })
    try {
      // The writes of one layer wait for each other. This costs less than transactions that fail because of each other.
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

/** Begins no attempt after the signal is aborted, because a write that was reported as failed must not happen later. */
function attempt<Result>(
  document: DocumentReference,
  write: FirestoreWrite<Result>,
  signal: AbortSignal,
): Promise<Result> {
  async function once(transaction: Transaction): Promise<Result> {
    signal.throwIfAborted()
    const result = await write.attempt(transaction).catch((error: unknown) => {
      throw errorOfRead(error)
    })
    signal.throwIfAborted()
    return result
  }
  return document.firestore.runTransaction(once, { maxAttempts: ATTEMPTS_MAX })
}
