import type { JsonObject } from '@toolrack/contract'
import type { StoredLayer } from '../catalog/layer-source.ts'
import type {
  DefinitionDelete,
  DefinitionPut,
  DefinitionWriteResult,
  Precondition,
  WriteContext,
} from '../definitions/definition-change.ts'

/** A module without its source and its definitions. */
export type StoredModule = ModuleSummary & { readonly report: JsonObject }

export type ModuleSummary = {
  readonly name: string
  /** Of the source, in hexadecimal digits. */
  readonly sha256: string
  /** The names of its definitions. */
  readonly tools: readonly string[]
  /** The layer's revision that this content came with. */
  readonly revision: string
  readonly updatedAt: string
  readonly updatedBy: string
}

/** One past or present content of a module. Without a sha256 it is a deletion. */
export type ModuleVersion = {
  readonly revision: string
  readonly sha256?: string
  readonly tools: readonly string[]
  readonly at: string
  readonly by: string
}

export type ModulePut = {
  readonly kind: 'put'
  readonly name: string
  readonly sha256: string
  readonly source: string
  readonly report: JsonObject
  /** Every definition that the module has from now on. */
  readonly tools: readonly DefinitionPut[]
  readonly precondition?: Precondition
}

export type ModuleChange = ModulePut | DefinitionDelete

export type ModuleWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'deleted'
  readonly sha256: string
  /** The digest of the content that was replaced. */
  readonly replaced?: string | undefined
  /** The revision that the module's content came with. */
  readonly revision: string
  readonly tools: readonly DefinitionWriteResult[]
}

/** A part of a list by name: so many names after a name. */
export type ModulePage = { readonly after?: string | undefined; readonly limit: number }

/**
 * The part of a store that keeps modules. It rejects as the rest of the store does, and passes
 * `test/support/module-store.contract.ts`.
 */
export interface ModuleStore {
  /**
   * Writes the module, its source, a version, and every definition that it adds, changes or takes away: all or nothing, in
   * one transaction, raising the layer's revision once if anything changed. Rejects with what `planModuleWrite` throws.
   */
  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleWriteResult>

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined>

  /** In the order of the code units of their names. */
  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]>

  /** The last versions of a module, the newest first. Empty for a name that was never written. */
  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]>

  /** The source of a module by its sha256, as long as a kept version has it. */
  source(layer: StoredLayer, sha256: string): Promise<string | undefined>
}
