import type { Digest } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DefinitionChange } from '../../tools/definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import type { DefinitionStore, DefinitionVersion } from '../../tools/definitions/definition-store.ts'
import type { StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { LayerRead, LayerSource } from '../../tools/catalog/layer-source.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import { STORE_BYTES_MAX } from '../../tools/definitions/layer-totals.ts'
import { planWrite, written } from '../../tools/definitions/plan-write.ts'
import type {
  ModuleChange,
  ModuleOutcome,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import { inTransaction } from './in-transaction.ts'
import { LayerWrite } from './layer-write.ts'
import { openDatabase } from './open-database.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'
import { storedDefinition } from './stored-definition.ts'
import { StoredModules } from './stored-modules.ts'
import { prepareStatements } from './statements.ts'
import type { DefinitionRow, LayerRow, Statements, VersionRow } from './statements.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'

/** How long a write waits for another program's lock, in milliseconds. */
const BUSY_WAIT_MS = 1_000
const BUSY_STEP_MS = 20

/** The embedded store: one SQLite file. */
export class SqliteDefinitionStore implements DefinitionStore {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #modules: StoredModules
  readonly #busyWaitMs: number
  readonly #bytesMax: number

  /** `bytesMax` is for all layers together. */
  constructor(path: string, options: { busyWaitMs?: number; bytesMax?: number } = {}) {
    this.#database = openDatabase(path)
    this.#statements = prepareStatements(this.#database)
    this.#modules = new StoredModules(this.#statements)
    this.#bytesMax = options.bytesMax ?? STORE_BYTES_MAX
    this.#busyWaitMs = options.busyWaitMs ?? BUSY_WAIT_MS
  }

  layer(layer: StoredLayer): LayerSource {
    const key = layerKey(layer)
    return {
      read: (since) => this.#looking(() => this.#read(key, since)),
    }
  }

  write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly ChangeOutcome[]> {
    return this.#attempt(() =>
      inTransaction(this.#database, 'IMMEDIATE', () => this.#write(layerKey(layer), changes, context)),
    )
  }

  versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    return this.#attempt(() => {
      const key = layerKey(layer)
      const state = this.#statements.layer.get(key) as LayerRow | undefined
      const rows = this.#statements.versions.all(key, name, VERSIONS_KEPT) as VersionRow[]
      return state ? rows.map((row) => version(row, state.epoch)) : []
    })
  }

  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleOutcome> {
    return this.#attempt(() =>
      inTransaction(this.#database, 'IMMEDIATE', () =>
        this.#modules.write(
          change,
          new LayerWrite(this.#statements, layerKey(layer), context, this.#bytesMax),
        ),
      ),
    )
  }

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined> {
    return this.#looking(() => this.#modules.module(layerKey(layer), name))
  }

  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]> {
    return this.#looking(() => this.#modules.modules(layerKey(layer), page))
  }

  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]> {
    return this.#looking(() => this.#modules.versions(layerKey(layer), name))
  }

  source(layer: StoredLayer, sha256: string): Promise<string | undefined> {
    return this.#looking(() => this.#modules.source(layerKey(layer), sha256))
  }

  close(): Promise<void> {
    this.#database.close()
    return Promise.resolve()
  }

  #read(key: string, since: string | undefined): LayerRead {
    const state = this.#statements.layer.get(key) as LayerRow | undefined
    if (!state) return { revision: '0', whole: true, definitions: [], deleted: [], skipped: [] }
    const revision = revisionText(state.revision, state.epoch)
    const known = since === undefined ? undefined : revisionNumber(since, state)
    const rows = this.#statements.changed.all(key, known ?? -1) as DefinitionRow[]
    const definitions = rows.flatMap((row) =>
      row.text === null ? [] : [storedDefinition(row, row.text, state.epoch)],
    )
    const deleted = known === undefined ? [] : rows.filter((row) => row.text === null).map((row) => row.name)
    return { revision, whole: known === undefined, definitions, deleted, skipped: [] }
  }

  #write(key: string, changes: readonly DefinitionChange[], context: WriteContext): readonly ChangeOutcome[] {
    const layer = new LayerWrite(this.#statements, key, context, this.#bytesMax)
    const current = layer.definitions(changes.map(({ name }) => name))
    const planned = planWrite(changes, current, layer.room)
    const outcomes = layer.apply(planned, current)
    if (written(planned).length > 0) layer.finish()
    return outcomes
  }

  /** Tries again while another program holds the lock, without blocking the event loop. */
  async #attempt<T>(act: () => T): Promise<T> {
    const end = performance.now() + this.#busyWaitMs
    for (;;) {
      try {
        return act()
      } catch (error) {
        if (!isBusy(error) || performance.now() >= end) throw sqliteError(error)
        await sleep(BUSY_STEP_MS)
      }
    }
  }

  #looking<T>(act: () => T): Promise<T> {
    return this.#attempt(() => inTransaction(this.#database, 'DEFERRED', act))
  }
}

function layerKey(layer: StoredLayer): string {
  return layer.kind === 'global' ? 'global' : `user:${layer.uid}`
}

/**
 * Undefined for a revision of another epoch or of the future (a database put back from a copy), and for one since which deleted
 * names have gone: then all is read.
 */
function revisionNumber(revision: string, state: LayerRow): number | undefined {
  const [number, epoch] = revision.split('-')
  const isKnown = epoch === state.epoch && Number(number) <= state.revision && Number(number) >= state.floor
  return isKnown ? Number(number) : undefined
}

function version(row: VersionRow, epoch: string): DefinitionVersion {
  const content =
    row.text === null || row.digest === null ? {} : { text: row.text, digest: row.digest as Digest }
  return { revision: revisionText(row.revision, epoch), ...content, at: row.at, by: row.by }
}
