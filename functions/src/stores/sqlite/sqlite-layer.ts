import type { JsonObject } from '@toolrack/contract'
import type { LayerRead } from '../../catalog/views/layer-source.ts'
import { VERSIONS_KEPT } from '../../catalog/definitions/definition-store.ts'
import { lockKey, type PackageLock } from '../../catalog/definitions/package-lock.ts'
import type { ModuleFile } from '../../catalog/definitions/module-content.ts'
import type { StoredModule } from '../../catalog/definitions/module-store.ts'
import {
  forgottenRevision,
  revisionNumber,
  revisionText,
  type LayerState,
} from '../../catalog/definitions/layer-state.ts'
import type { LayerRecords } from '../../catalog/definitions/record-store.ts'
import { definitionVersion, deletionOf, moduleSummary } from '../../catalog/definitions/stored-records.ts'
import { moduleVersion, storedDefinition } from '../../catalog/definitions/stored-records.ts'
import type { DefinitionRecord, DefinitionVersionRecord } from '../../catalog/definitions/stored-records.ts'
import type { BlobRow, LayerRow, ModuleRow, ModuleVersionRow, Statements } from './statements.ts'

/** The records of one layer in the database. All methods must be called in a transaction of the store. */
export interface SqliteLayer extends LayerRecords {
  /** The state of the layer. Undefined if the layer was never written. */
  state(): LayerState | undefined
  read(since: string | undefined): LayerRead
  definition(name: string): DefinitionRecord | undefined
  module(name: string): StoredModule | undefined
}

export function sqliteLayer(statements: Statements, key: string): SqliteLayer {
  function state(): LayerState | undefined {
    const row = statements.layer.get(key) as LayerRow | undefined
    if (!row) return undefined
    const { bytes, presentBytes, deleted, ...rest } = row
    return { ...rest, totals: { bytes, presentBytes, deleted } }
  }
  const epochOfLayer = (): string => state()?.epoch ?? ''
  return {
    state,

    read(since) {
      const present = state()
      if (!present) return { revision: '0', whole: true, definitions: [], deleted: [], skipped: [] }
      const { epoch, revision } = present
      const known = since === undefined ? undefined : revisionNumber(since, present)
      const rows = statements.changed.all(key, known ?? -1) as DefinitionRecord[]
      const deletions = rows.flatMap((row) => deletionOf(row, epoch) ?? [])
      return {
        revision: revisionText(revision, epoch),
        whole: known === undefined,
        definitions: rows.flatMap((row) => storedDefinition(row, epoch) ?? []),
        deleted: known === undefined ? [] : deletions.map(({ name }) => name),
        deletions,
        forgotten: forgottenRevision(present),
        skipped: [],
      }
    },

    definition: (name) => statements.definition.get(key, name) as DefinitionRecord | undefined,

    versions(name) {
      const rows = statements.versions.all(key, name, VERSIONS_KEPT) as DefinitionVersionRecord[]
      const epoch = epochOfLayer()
      return rows.map((row) => definitionVersion(row, epoch))
    },

    module(name) {
      const row = statements.module.get(key, name) as (ModuleRow & { report: string }) | undefined
      const summary = row && moduleSummary(withTools(row), epochOfLayer())
      return summary && { ...summary, report: JSON.parse(row.report) as JsonObject }
    },

    modules({ after = '', limit }) {
      const rows = statements.modules.all(key, after, limit) as ModuleRow[]
      const epoch = epochOfLayer()
      return rows.flatMap((row) => moduleSummary(withTools(row), epoch) ?? [])
    },

    moduleVersions(name) {
      const rows = statements.moduleVersions.all(key, name, VERSIONS_KEPT) as ModuleVersionRow[]
      const epoch = epochOfLayer()
      return rows.map((row) => moduleVersion(withTools(row), epoch))
    },

    source(sha256) {
      const row = statements.source.get(key, sha256) as BlobRow | undefined
      if (!row) return undefined
      return row.hasFiles === 1 ? { files: JSON.parse(row.source) as ModuleFile[] } : { source: row.source }
    },

    lock(sha256, environment) {
      const row = statements.source.get(key, lockKey(sha256, environment)) as BlobRow | undefined
      return row && (JSON.parse(row.source) as PackageLock)
    },
  }
}

function withTools<Row extends { readonly tools: string }>(row: Row) {
  return { ...row, tools: JSON.parse(row.tools) as string[] }
}
