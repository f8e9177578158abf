import type { JsonObject } from '@toolrack/contract'
import type { StoredLayer } from '../views/layer-source.ts'
import type {
  DefinitionDelete,
  DefinitionPut,
  DefinitionWriteResult,
  WriteContext,
} from './definition-change.ts'
import type { Precondition } from '../../precondition.ts'
import type { ModuleContent } from './module-content.ts'

/** A module without its content and its definitions. */
export type StoredModule = ModuleSummary & { readonly report: JsonObject }

export type ModuleSummary = {
  readonly name: string
  /** The digest of the content, in hexadecimal digits (`contentSha256`). */
  readonly sha256: string
  /** The names of the module's definitions. */
  readonly tools: readonly string[]
  /** The layer's revision when this content was written. */
  readonly revision: string
  readonly updatedAt: string
  readonly updatedBy: string
}

/** One past or present content of a module. A version without sha256 is a deletion. */
export type ModuleVersion = {
  readonly revision: string
  readonly sha256?: string
  readonly tools: readonly string[]
  readonly at: string
  readonly by: string
}

export type ModulePut = ModuleContent & {
  readonly kind: 'put'
  readonly name: string
  readonly sha256: string
  readonly report: JsonObject
  /** All definitions of the module after the write. */
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
  /** The revision of the module's content. */
  readonly revision: string
  readonly tools: readonly DefinitionWriteResult[]
}

/** A page of a list that is ordered by name: at most `limit` names after the name `after`. */
export type ModulePage = { readonly after?: string | undefined; readonly limit: number }

/** The part of a `DefinitionStore` that keeps modules. Every implementation passes `test/support/module-store.contract.ts`. */
export interface ModuleStore {
  /**
   * Writes the module, its source, a version, and all changes of the module's definitions in one transaction. Raises the layer's
   * revision once if anything has changed. Rejects with the errors of `planModuleWrite`.
   */
  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleWriteResult>

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined>

  /** The modules of a layer, ordered by the code units of their names. */
  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]>

  /** The newest versions of a module, the newest first. Empty for a name that was never written. */
  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]>

  /** The content of a module by its sha256, as long as a kept version has it. */
  source(layer: StoredLayer, sha256: string): Promise<ModuleContent | undefined>
}
