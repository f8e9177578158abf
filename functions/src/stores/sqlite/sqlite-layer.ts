import type { JsonObject } from '@toolrack/contract'
import type { LayerRead } from '../../tools/catalog/layer-source.ts'
import { VERSIONS_KEPT, type DefinitionVersion } from '../../tools/definitions/definition-store.ts'
import type {
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import { revisionNumber, revisionText, type LayerState } from '../../tools/records/layer-state.ts'
import type { LayerRecords } from '../../tools/records/record-store.ts'
import {
  definitionVersion,
  moduleSummary,
  moduleVersion,
  storedDefinition,
} from '../../tools/records/stored-records.ts'
import type {
  DefinitionRecord,
  DefinitionVersionRecord,
  ModuleRecord,
} from '../../tools/records/stored-records.ts'
import type { LayerRow, ModuleRow, ModuleVersionRow, Statements } from './statements.ts'

/** The records of one layer in the database. Every method runs inside a transaction of the store. */
export class SqliteLayer implements LayerRecords {
  readonly #statements: Statements
  readonly #key: string

  constructor(statements: Statements, key: string) {
    this.#statements = statements
    this.#key = key
  }

  /** Undefined for a layer that was never written. */
  get state(): LayerState | undefined {
    const row = this.#statements.layer.get(this.#key) as LayerRow | undefined
    if (!row) return undefined
    const { bytes, presentBytes, deleted, ...state } = row
    return { ...state, totals: { bytes, presentBytes, deleted } }
  }

  read(since: string | undefined): LayerRead {
    const { state } = this
    if (!state) return { revision: '0', whole: true, definitions: [], deleted: [], skipped: [] }
    const { epoch } = state
    const known = since === undefined ? undefined : revisionNumber(since, state)
    const rows = this.#statements.changed.all(this.#key, known ?? -1) as DefinitionRecord[]
    return {
      revision: revisionText(state.revision, epoch),
      whole: known === undefined,
      definitions: rows.flatMap((row) => storedDefinition(row, epoch) ?? []),
      deleted: known === undefined ? [] : rows.flatMap(({ name, text }) => (text === null ? name : [])),
      skipped: [],
    }
  }

  definition(name: string): DefinitionRecord | undefined {
    return this.#statements.definition.get(this.#key, name) as DefinitionRecord | undefined
  }

  versions(name: string): readonly DefinitionVersion[] {
    const rows = this.#statements.versions.all(this.#key, name, VERSIONS_KEPT) as DefinitionVersionRecord[]
    const epoch = this.#epoch
    return rows.map((row) => definitionVersion(row, epoch))
  }

  module(name: string): StoredModule | undefined {
    const row = this.#statements.module.get(this.#key, name) as (ModuleRow & { report: string }) | undefined
    const summary = row && moduleSummary(moduleRecord(row), this.#epoch)
    return summary && { ...summary, report: JSON.parse(row.report) as JsonObject }
  }

  modules({ after = '', limit }: ModulePage): readonly ModuleSummary[] {
    const rows = this.#statements.modules.all(this.#key, after, limit) as ModuleRow[]
    const epoch = this.#epoch
    return rows.flatMap((row) => moduleSummary(moduleRecord(row), epoch) ?? [])
  }

  moduleVersions(name: string): readonly ModuleVersion[] {
    const rows = this.#statements.moduleVersions.all(this.#key, name, VERSIONS_KEPT) as ModuleVersionRow[]
    const epoch = this.#epoch
    return rows.map((row) => moduleVersion({ ...row, tools: namesIn(row.tools) }, epoch))
  }

  source(sha256: string): string | undefined {
    const row = this.#statements.source.get(this.#key, sha256) as { source: string } | undefined
    return row?.source
  }

  get #epoch(): string {
    return this.state?.epoch ?? ''
  }
}

function moduleRecord(row: ModuleRow): ModuleRecord {
  return { ...row, tools: namesIn(row.tools) }
}

function namesIn(json: string): readonly string[] {
  return JSON.parse(json) as string[]
}
