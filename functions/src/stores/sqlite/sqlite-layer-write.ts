import { VERSIONS_KEPT } from '../../catalog/definitions/definition-store.ts'
import { keptText } from '../../catalog/definitions/module-content.ts'
import { AGES, LayerChanges } from '../../catalog/definitions/layer-changes.ts'
import type {
  Age,
  KeptName,
  KeptVersion,
  RecordChange,
  RecordKind,
} from '../../catalog/definitions/layer-changes.ts'
import { lockKey } from '../../catalog/definitions/package-lock.ts'
import { newLayerState } from '../../catalog/definitions/layer-state.ts'
import { NO_TOTALS, RECORD_BYTES, recordBytes } from '../../catalog/definitions/layer-totals.ts'
import type { FoundDefinition, FoundModule, LayerWrite } from '../../catalog/definitions/layer-write.ts'
import type { ModuleSummary } from '../../catalog/definitions/module-store.ts'
import { parseRevocation, storedDefinition } from '../../catalog/definitions/stored-records.ts'
import type { DefinitionRecord } from '../../catalog/definitions/stored-records.ts'
import { sqliteLayer } from './sqlite-layer.ts'
import type { Statements, StoreRow } from './statements.ts'

/** If room is needed, how many of the oldest versions the first read returns. Each further read returns twice as many. */
const FIRST_READ = 2

/** Writes to the layers of the database, inside one transaction of the store. */
export class SqliteLayerWriter {
  readonly #statements: Statements
  readonly #storeBytesMax: number

  constructor(statements: Statements, storeBytesMax: number) {
    this.#statements = statements
    this.#storeBytesMax = storeBytesMax
  }

  write<Result>(key: string, write: LayerWrite<Result>): Result {
    const layer = sqliteLayer(this.#statements, key)
    const known = layer.state()
    const state = known ?? newLayerState()
    const kept = write.module === undefined ? undefined : this.#kept(key, 'module', write.module)
    const module = kept && this.#module(key, kept, layer.module(kept.name))
    const names = write.definitions(module)
    const found = names.map((name): [string, FoundDefinition] => {
      const record = layer.definition(name)
      const stored = record && storedDefinition(record, state.epoch)
      return [name, { kept: record && this.#partial(key, record), stored }]
    })
    const { presentBytes, layers } = this.#statements.store.get() as StoreRow
    const store = { presentBytes, bytesMax: this.#storeBytesMax, layers: known ? layers : layers + 1 }
    const { result, changes } = write.plan({ state, store, module, definitions: new Map(found) })
    if (changes) {
      this.#apply(key, changes)
      this.#shrinkStore()
    }
    return result
  }

  #module(key: string, kept: KeptName, summary: ModuleSummary | undefined): FoundModule {
    const row = this.#statements.revocation.get(key, kept.name) as { granted: string } | undefined
    return { kept, summary, revocation: row && parseRevocation(row.granted) }
  }

  /** A definition, with only those of its versions that a write of this definition affects. */
  #partial(key: string, { name, text, revision }: DefinitionRecord): KeptName {
    const bytes = recordBytes(text)
    const surplus = this.#statements.surplusVersions.all(key, name, VERSIONS_KEPT - 1) as KeptVersion[]
    const versions = [...surplus.toReversed(), { revision, bytes }]
    return { kind: 'definition', name, isDeleted: text === null, ownBytes: bytes, versions, isPartial: true }
  }

  /** A name with all its versions. If it is a deleted module without a revocation, it has versions but no row in `modules`. */
  #kept(key: string, kind: RecordKind, name: string): KeptName | undefined {
    const { definitionName, moduleName, keptVersions, keptModuleVersions } = this.#statements
    const isDefinition = kind === 'definition'
    const row = (isDefinition ? definitionName : moduleName).get(key, name) as
      (Pick<KeptName, 'ownBytes'> & { isDeleted: number }) | undefined
    const versions = (isDefinition ? keptVersions : keptModuleVersions).all(key, name) as KeptVersion[]
    if (!row && versions.length === 0) return undefined
    const { isDeleted, ownBytes } = row ?? { isDeleted: 1, ownBytes: RECORD_BYTES }
    return { kind, name, isDeleted: isDeleted === 1, ownBytes, versions }
  }

  #apply(key: string, changes: LayerChanges): void {
    for (const age of AGES) {
      if (changes.isTooLarge(age))
        changes.consider(changes.partial.flatMap(({ kind, name }) => this.#kept(key, kind, name) ?? []))
      for (let count = FIRST_READ; changes.isTooLarge(age); count *= 2) {
        const reached = this.#consider(key, changes, age, count)
        changes.forget(age, reached)
        if (reached === Infinity) break
      }
    }
    const { epoch, revision, size, floor, totals } = changes.state
    const { bytes = 0, presentBytes = 0, deleted = 0 } = totals ?? {}
    this.#statements.putLayer.run(key, epoch, revision, size, bytes, presentBytes, deleted, floor)
    for (const change of changes.records) {
      if (change.name.kind === 'definition') this.#writeDefinition(key, change)
      else this.#writeModule(key, change)
    }
    if (changes.records.some(({ name, forgotten }) => name.kind === 'module' && forgotten.length > 0))
      this.#statements.dropBlobs.run(key)
  }

  /** Adds the names of the `count` oldest versions of each kind. Returns the revision up to which all names were added. */
  #consider(key: string, changes: LayerChanges, age: Age, count: number): number {
    const { deletedDefinitions, deletedModules, oldestVersions, oldestModuleVersions } = this.#statements
    const isDeletion = age === 'deletedAt'
    const sources = [
      ['definition', isDeletion ? deletedDefinitions : oldestVersions],
      ['module', isDeletion ? deletedModules : oldestModuleVersions],
    ] as const
    const reached = sources.map(([kind, statement]) => {
      const rows = statement.all(key, count) as { name: string; revision: number }[]
      const names = new Set(rows.map(({ name }) => name))
      const unknown = [...names].filter((name) => !changes.knows({ kind, name }))
      changes.consider(unknown.flatMap((name) => this.#kept(key, kind, name) ?? []))
      // If `count` rows were found, there may be more rows with the revision of the last one. So only lower revisions are
      // complete.
      return rows.length < count ? Infinity : (rows.at(-1)?.revision ?? Infinity) - 1
    })
    return Math.min(...reached)
  }

  #writeDefinition(key: string, { name: { name, versions }, left, forgotten, content }: RecordChange): void {
    const { putDefinition, addVersion, addPast, dropPast, dropVersion, dropDefinition } = this.#statements
    if (content?.kind === 'definition') {
      const { revision, digest, text, tokens = null, updatedAt, updatedBy } = content.record
      const before = versions.at(-2)
      putDefinition.run(key, name, revision, digest, text, tokens, updatedAt, updatedBy)
      addVersion.run(key, name, revision, text === null ? null : digest, text, updatedAt, updatedBy)
      if (before) addPast.run(key, name, before.revision)
      if (text === null) addPast.run(key, name, revision)
    }
    for (const { revision } of forgotten) {
      dropPast.run(key, name, revision)
      dropVersion.run(key, name, revision)
    }
    if (left.versions.length === 0) dropDefinition.run(key, name)
  }

  #writeModule(key: string, { name: { name }, forgotten, content }: RecordChange): void {
    const { putBlob, putLock, putModule, deleteModule, passModuleVersion, addModuleVersion } =
      this.#statements
    if (content?.kind === 'module') {
      const { revision, sha256, environment = null, granted = null, updatedAt, updatedBy } = content.record
      const tools = JSON.stringify(content.record.tools)
      if (sha256 === null || !content.module) {
        if (granted === null) deleteModule.run(key, name)
        else putModule.run(key, name, revision, '', null, '', granted, '', updatedAt, updatedBy)
      } else {
        putBlob.run(key, sha256, keptText(content.module), Number(content.module.files !== undefined))
        if (environment !== null && content.lock !== undefined)
          putLock.run(key, lockKey(sha256, environment), content.lock)
        const { report } = content
        putModule.run(key, name, revision, sha256, environment, tools, granted, report, updatedAt, updatedBy)
      }
      passModuleVersion.run(key, name)
      const isPast = Number(sha256 === null && granted === null)
      addModuleVersion.run(key, name, revision, sha256, environment, tools, updatedAt, updatedBy, isPast)
    }
    if (content?.kind === 'grants') this.#statements.putGranted.run(content.granted, key, name)
    for (const { revision } of forgotten) this.#statements.dropModuleVersion.run(key, name, revision)
  }

  /**
   * Removes past content while the whole store is too large. Each step removes the oldest past content of the layer that has the
   * most past bytes.
   */
  #shrinkStore(): void {
    const { store, layerWithMostPast } = this.#statements
    for (;;) {
      const tooMany = (store.get() as StoreRow).bytes - this.#storeBytesMax
      if (tooMany <= 0) return
      const most = layerWithMostPast.get() as { layer: string } | undefined
      const state = most && sqliteLayer(this.#statements, most.layer).state()
      const { bytes, presentBytes } = state?.totals ?? NO_TOTALS
      if (!state || bytes <= presentBytes) return
      // A step removes at most half of the past bytes of the layer. After that, another layer may have the most past bytes.
      const step = Math.min(tooMany, Math.ceil((bytes - presentBytes) / 2))
      const changes = new LayerChanges(state, { bytesMax: bytes - step, deletedMax: Infinity })
      this.#apply(most.layer, changes)
      // If nothing was removed, the counted bytes are wrong. Then the loop must end.
      if (changes.state.totals?.bytes === bytes) return
    }
  }
}
