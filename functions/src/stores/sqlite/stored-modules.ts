import type { JsonObject } from '@toolrack/contract'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import { RECORD_BYTES, recordBytes } from '../../tools/definitions/layer-totals.ts'
import type { ContentBytes } from '../../tools/definitions/layer-totals.ts'
import type {
  ModuleChange,
  ModuleOutcome,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import { bytesAfter, definitionsOf, planModuleWrite } from '../../tools/modules/plan-module-write.ts'
import type { LayerWrite } from './layer-write.ts'
import type { LayerRow, ModuleRow, ModuleVersionRow, Statements } from './statements.ts'

/** The modules in the database; every method runs inside a transaction of the store. */
export class StoredModules {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  module(key: string, name: string): StoredModule | undefined {
    const row = this.#statements.module.get(key, name) as ModuleRow | undefined
    return row && { ...summary(row, this.#epoch(key)), report: JSON.parse(row.report) as JsonObject }
  }

  modules(key: string, { after = '', limit }: ModulePage): readonly ModuleSummary[] {
    const rows = this.#statements.modules.all(key, after, limit) as ModuleRow[]
    const epoch = this.#epoch(key)
    return rows.map((row) => summary(row, epoch))
  }

  versions(key: string, name: string): readonly ModuleVersion[] {
    const rows = this.#statements.moduleVersions.all(key, name, VERSIONS_KEPT) as ModuleVersionRow[]
    const epoch = this.#epoch(key)
    return rows.map(({ revision, sha256, tools, at, by }) => ({
      revision: revisionText(revision, epoch),
      ...(sha256 !== null && { sha256 }),
      tools: names(tools),
      at,
      by,
    }))
  }

  source(key: string, sha256: string): string | undefined {
    const row = this.#statements.source.get(key, sha256) as { source: string } | undefined
    return row?.source
  }

  write(change: ModuleChange, layer: LayerWrite): ModuleOutcome {
    const { name } = change
    const row = this.#statements.module.get(layer.key, name) as ModuleRow | undefined
    const present = row && { ...summary(row, this.#epoch(layer.key)), bytes: this.#bytesOf(row, layer) }
    const current = layer.definitions(definitionsOf(change, present))
    const { outcome, definitions } = planModuleWrite(change, present, current, layer.room)
    const tools = layer.apply(definitions, current)
    const sha256 = change.kind === 'put' ? change.sha256 : (present?.sha256 ?? '')
    if (outcome === 'unchanged') return { name, outcome, sha256, revision: present?.revision ?? '', tools }
    const left = this.versions(layer.key, name).length > 0 ? 'deleted' : 'nothing'
    if (change.kind === 'put') this.#put(change, layer)
    else this.#statements.deleteModule.run(layer.key, name)
    layer.count(present?.bytes ?? left, bytesAfter(change), this.#addVersion(change, layer))
    layer.finish()
    return { name, outcome, sha256, replaced: present?.sha256, revision: layer.revision, tools }
  }

  #bytesOf({ name, report, tools }: ModuleRow, { key }: LayerWrite): ContentBytes {
    const version = this.#statements.presentModuleVersion.get(key, name) as { bytes: number } | undefined
    return { own: recordBytes(report, tools), version: RECORD_BYTES + (version?.bytes ?? 0) }
  }

  #put(change: ModuleChange & { kind: 'put' }, { key, next, context }: LayerWrite): void {
    const { name, sha256, source, report } = change
    const at = context.at.toISOString()
    this.#statements.putBlob.run(key, sha256, source)
    this.#statements.putModule.run(
      key,
      name,
      next,
      sha256,
      toolsText(change),
      JSON.stringify(report),
      at,
      context.by,
    )
  }

  /** Answers the versions that are too many and have gone. */
  #addVersion(change: ModuleChange, { key, next, context }: LayerWrite): readonly unknown[] {
    const { addModuleVersion, dropModuleVersions, passModuleVersion } = this.#statements
    const { name } = change
    const sha256 = change.kind === 'put' ? change.sha256 : null
    const at = context.at.toISOString()
    passModuleVersion.run(key, name)
    addModuleVersion.run(key, name, next, sha256, toolsText(change), at, context.by, Number(sha256 === null))
    return dropModuleVersions.all(key, name, key, name, VERSIONS_KEPT)
  }

  #epoch(key: string): string {
    return (this.#statements.layer.get(key) as LayerRow | undefined)?.epoch ?? ''
  }
}

function summary(row: Omit<ModuleRow, 'report'>, epoch: string): ModuleSummary {
  return {
    name: row.name,
    sha256: row.sha256,
    tools: names(row.tools),
    revision: revisionText(row.revision, epoch),
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}

function toolsText(change: ModuleChange): string {
  return JSON.stringify(change.kind === 'put' ? change.tools.map(({ name }) => name) : [])
}

function names(text: string): readonly string[] {
  return JSON.parse(text) as string[]
}
