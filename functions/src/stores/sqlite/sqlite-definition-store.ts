import type { DatabaseSync } from 'node:sqlite'
import type { LayerSource, StoredLayer } from '../../catalog/views/layer-source.ts'
import { STORE_BYTES_MAX } from '../../catalog/definitions/layer-totals.ts'
import { BUSY_WAIT_MS, inTransactionWhenFree } from './transaction.ts'
import type { LayerWrite } from '../../catalog/definitions/layer-write.ts'
import { openDatabase } from './open-database.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { RecordStore } from '../../catalog/definitions/record-store.ts'
import { sqliteLayer, type SqliteLayer } from './sqlite-layer.ts'
import { SqliteLayerWriter } from './sqlite-layer-write.ts'

/** The embedded store: one SQLite file. */
export class SqliteDefinitionStore extends RecordStore {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #writer: SqliteLayerWriter
  readonly #busyWaitMs: number

  /** `bytesMax` is the most bytes of all layers together. */
  constructor(path: string, options: { busyWaitMs?: number; bytesMax?: number } = {}) {
    super()
    this.#database = openDatabase(path)
    this.#statements = prepareStatements(this.#database)
    this.#writer = new SqliteLayerWriter(this.#statements, options.bytesMax ?? STORE_BYTES_MAX)
    this.#busyWaitMs = options.busyWaitMs ?? BUSY_WAIT_MS
  }

  layer(layer: StoredLayer): LayerSource {
    return { read: (since) => this.readRecords(layer, (records) => records.read(since)) }
  }

  close(): Promise<void> {
    this.#database.close()
    return Promise.resolve()
  }

  protected readRecords<T>(layer: StoredLayer, read: (records: SqliteLayer) => T | Promise<T>): Promise<T> {
    return this.#attempt('DEFERRED', () => read(sqliteLayer(this.#statements, layerKey(layer))))
  }

  protected runWrite<Result>(layer: StoredLayer, write: LayerWrite<Result>): Promise<Result> {
    return this.#attempt('IMMEDIATE', () => this.#writer.write(layerKey(layer), write))
  }

  #attempt<T>(mode: 'DEFERRED' | 'IMMEDIATE', act: () => T | Promise<T>): Promise<T> {
    return inTransactionWhenFree(this.#database, mode, act, this.#busyWaitMs)
  }
}

function layerKey(layer: StoredLayer): string {
  return layer.kind === 'global' ? 'global' : `user:${layer.uid}`
}
