import type { Digest } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DefinitionChange } from '../definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../definitions/definition-store.ts'
import type { ChangeOutcome, DefinitionStore, DefinitionVersion } from '../definitions/definition-store.ts'
import type { WriteContext } from '../definitions/definition-store.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import type { StoredLayer } from '../catalog/stored-layer.ts'
import type { LayerRead, LayerSource } from '../catalog/layer-source.ts'
import { newEpoch, revisionText } from '../definitions/layer-revision.ts'
import { planWrite } from '../definitions/plan-write.ts'
import { openDatabase } from './open-database.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'
import { prepareStatements } from './statements.ts'
import type { DefinitionRow, LayerRow, Statements, VersionRow } from './statements.ts'

/** How long a write waits for another program's lock, in milliseconds. */
const BUSY_WAIT_MS = 1_000
const BUSY_STEP_MS = 20

/** The embedded store: one SQLite file. */
export class SqliteDefinitionStore implements DefinitionStore {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #busyWaitMs: number

  constructor(path: string, options: { busyWaitMs?: number } = {}) {
    this.#database = openDatabase(path)
    this.#statements = prepareStatements(this.#database)
    this.#busyWaitMs = options.busyWaitMs ?? BUSY_WAIT_MS
  }

  layer(layer: StoredLayer): LayerSource {
    const key = layerKey(layer)
    return {
      read: (since) => this.#attempt(() => this.#inTransaction('DEFERRED', () => this.#read(key, since))),
    }
  }

  write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly ChangeOutcome[]> {
    return this.#attempt(() =>
      this.#inTransaction('IMMEDIATE', () => this.#write(layerKey(layer), changes, context)),
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
    const definitions = rows.flatMap((row) => (row.text === null ? [] : [stored(row, row.text, state.epoch)]))
    const deleted = known === undefined ? [] : rows.filter((row) => row.text === null).map((row) => row.name)
    return { revision, whole: known === undefined, definitions, deleted, skipped: [] }
  }

  #write(key: string, changes: readonly DefinitionChange[], context: WriteContext): ChangeOutcome[] {
    const state = (this.#statements.layer.get(key) as LayerRow | undefined) ?? {
      epoch: newEpoch(),
      revision: 0,
      size: 0,
    }
    const current = new Map<string, StoredDefinition>()
    for (const { name } of changes) {
      const row = this.#statements.definition.get(key, name) as DefinitionRow | undefined
      if (row && row.text !== null) current.set(name, stored(row, row.text, state.epoch))
    }
    const planned = planWrite(changes, current, state.size, context.definitionsMax)
    const next = state.revision + 1
    const at = context.at.toISOString()
    let size = state.size
    let changed = false
    const outcomes = planned.map(({ change, outcome }): ChangeOutcome => {
      const before = current.get(change.name)
      if (outcome === 'unchanged' || outcome === 'skipped')
        return { name: change.name, outcome, ...identity(before) }
      const text = change.kind === 'put' ? change.text : null
      const digest = change.kind === 'put' ? change.digest : identity(before).digest
      this.#statements.put.run(key, change.name, next, digest, text, at, context.by)
      this.#statements.addVersion.run(
        key,
        change.name,
        next,
        text === null ? null : digest,
        text,
        at,
        context.by,
      )
      this.#statements.dropVersions.run(key, change.name, key, change.name, VERSIONS_KEPT)
      size += outcome === 'created' ? 1 : outcome === 'deleted' ? -1 : 0
      changed = true
      return { name: change.name, outcome, digest, revision: revisionText(next, state.epoch) }
    })
    if (changed) this.#statements.putLayer.run(key, state.epoch, next, size)
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

  #inTransaction<T>(mode: 'DEFERRED' | 'IMMEDIATE', act: () => T): T {
    this.#database.exec(`BEGIN ${mode}`)
    try {
      const result = act()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }
}

function layerKey(layer: StoredLayer): string {
  return layer.kind === 'global' ? 'global' : `user:${layer.uid}`
}

/** Undefined for a revision of another epoch or of the future (a database put back from a copy): then all is read. */
function revisionNumber(revision: string, state: LayerRow): number | undefined {
  const [number, epoch] = revision.split('-')
  return epoch === state.epoch && Number(number) <= state.revision ? Number(number) : undefined
}

function stored(row: DefinitionRow, text: string, epoch: string): StoredDefinition {
  return {
    name: row.name,
    text,
    digest: row.digest as Digest,
    revision: revisionText(row.revision, epoch),
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}

function version(row: VersionRow, epoch: string): DefinitionVersion {
  const content =
    row.text === null || row.digest === null ? {} : { text: row.text, digest: row.digest as Digest }
  return { revision: revisionText(row.revision, epoch), ...content, at: row.at, by: row.by }
}

function identity(definition: StoredDefinition | undefined): { digest: Digest; revision: string } {
  if (!definition) throw new Error('planWrite let a change through that needs a definition')
  return { digest: definition.digest, revision: definition.revision }
}
