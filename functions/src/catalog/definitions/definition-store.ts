import type { Digest } from '@toolrack/contract'
import type { DefinitionChange, DefinitionWriteResult, WriteContext } from './definition-change.ts'
import type { LayerSource, StoredLayer } from '../views/layer-source.ts'
import type { ModuleStore } from './module-store.ts'

/** One past or present content of a definition. A version without text is a deletion. */
export type DefinitionVersion = {
  readonly revision: string
  readonly digest?: Digest
  readonly text?: string
  readonly at: string
  readonly by: string
}

/** How many versions of a definition or module are kept, including the present one, so that one name cannot fill the layer. */
export const VERSIONS_KEPT = 50

/**
 * Keeps the user layers and the global layer: their definitions, and the modules that some definitions belong to.
 * Every method rejects with STORE_BUSY, STORE_FULL or STORE_FAILED if the store cannot do its work. Then nothing has changed,
 * unless the message says that a write was not confirmed.
 * Every implementation passes `test/support/definition-store.contract.ts`.
 */
export interface DefinitionStore extends ModuleStore {
  /** The source from which the catalog reads one layer. */
  layer(layer: StoredLayer): LayerSource

  /**
   * Applies all changes or none, in one transaction, and raises the layer's revision once if anything has changed. Rejects
   * with the errors of `planWrite`.
   */
  write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly DefinitionWriteResult[]>

  /** The newest versions of a definition, the newest first. Empty for a name that was never written. */
  versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]>

  close(): Promise<void>
}
