import type { DocumentReference, Transaction } from 'firebase-admin/firestore'
import type { LayerSource, StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { ClientLayerReader, RestLayerReader } from './layer-readers.ts'
import { Deadline } from './deadline.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError, unconfirmed } from './firestore-error.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import { STORE_DEADLINES, type StoreDeadlines } from './connect-firestore.ts'
import { layerDocument, layerSegments } from './layer-paths.ts'
import { Turns } from './turns.ts'
import type { LayerWrite } from '../../tools/records/layer-write.ts'
import { RecordStore, type LayerRecords } from '../../tools/records/record-store.ts'
import { FirestoreWrite } from './firestore-write.ts'
import { FirestoreRecords } from './firestore-records.ts'

/** Writers of one layer compete for its revision; each gets this many attempts before it gives up with STORE_BUSY. */
const ATTEMPTS_MAX = 20

export type FirestoreStoreParts = {
  readonly connection: FirestoreConnection
  readonly compilers: SchemaCompilers
  readonly deadlines?: StoreDeadlines
  readonly now?: () => number
}

/** The store in the cloud: one document a definition, the layer's revision raised in the same transaction. */
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
    let write: FirestoreWrite<Result> | undefined
    const act = async (): Promise<Result> => {
      const deadline = new Deadline(this.#deadlines.writeMs)
      try {
        const document = await deadline.race(this.#layerDocument(layer))
        write = new FirestoreWrite(document, layerWrite, compilers)
        return await deadline.race(connection.calls.track(attempt(document, write, deadline)))
      } finally {
        deadline.end()
      }
    }
    try {
      // Cheaper than losing transactions to each other.
      return await this.#turns.take(layerSegments(layer).join('/'), this.#deadlines.turnMs, act)
    } catch (error) {
      throw write?.isUnconfirmed ? unconfirmed(error) : firestoreError(error)
    }
  }

  protected async readRecords<T>(
    layer: StoredLayer,
    read: (records: LayerRecords) => T | Promise<T>,
  ): Promise<T> {
    try {
      return await this.#parts.connection.calls.within(this.#deadlines.readMs, async () =>
        read(new FirestoreRecords(await this.#layerDocument(layer))),
      )
    } catch (error) {
      throw firestoreError(error)
    }
  }

  async #layerDocument(layer: StoredLayer): Promise<DocumentReference> {
    try {
      return layerDocument(await this.#parts.connection.client(), layer)
    } catch (error) {
      throw firestoreError(error)
    }
  }
}

/** Tries nothing after the deadline, because a write that was reported as failed must not happen later. */
function attempt<Result>(
  document: DocumentReference,
  write: FirestoreWrite<Result>,
  deadline: Deadline,
): Promise<Result> {
  async function once(transaction: Transaction): Promise<Result> {
    if (deadline.isOver) throw new LateError()
    const result = await write.attempt(transaction)
    if (deadline.isOver) throw new LateError()
    return result
  }
  return document.firestore.runTransaction(once, { maxAttempts: ATTEMPTS_MAX })
}

/** Ends the attempts of a write after its deadline. */
class LateError extends Error {}
