import type { JsonObject } from '@toolrack/contract'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type {
  ModuleChange,
  ModuleOutcome,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import { definitionsOf, planModuleWrite } from '../../tools/modules/plan-module-write.ts'
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
    const present = this.module(layer.key, name)
    const current = layer.definitions(definitionsOf(change, present))
    const { outcome, definitions } = planModuleWrite(change, present, current, layer.room)
    const tools = layer.apply(definitions, current, outcome !== 'unchanged')
    const sha256 = change.kind === 'put' ? change.sha256 : (present?.sha256 ?? '')
    if (outcome === 'unchanged') return { name, outcome, sha256, revision: present?.revision ?? '', tools }
    if (change.kind === 'put') this.#put(change, layer)
    else this.#statements.deleteModule.run(layer.key, name)
    this.#addVersion(change, layer)
    return { name, outcome, sha256, replaced: present?.sha256, revision: layer.revision, tools }
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

  /** A source that no kept version has any more goes with the last of them. */
  #addVersion(change: ModuleChange, { key, next, context }: LayerWrite): void {
    const { addModuleVersion, dropModuleVersions, dropBlobs } = this.#statements
    const { name } = change
    const sha256 = change.kind === 'put' ? change.sha256 : null
    addModuleVersion.run(key, name, next, sha256, toolsText(change), context.at.toISOString(), context.by)
    const dropped = dropModuleVersions.run(key, name, key, name, VERSIONS_KEPT)
    if (dropped.changes > 0) dropBlobs.run(key)
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
