import type { Digest } from '@toolrack/contract'
import type { DefinitionChange, DefinitionWriteResult, WriteContext } from './definition-change.ts'
import type { LayerSource, StoredLayer } from '../views/layer-source.ts'
import type { ModuleStore } from './module-store.ts'

/** The content of a definition at one revision. If there is no text, the definition was deleted at this revision. */
export type DefinitionVersion = {
  readonly revision: string
  readonly digest?: Digest
  readonly text?: string
  readonly at: string
  readonly by: string
}

/**
 * How many versions of a definition or module are kept, with the present one. The limit prevents that one name fills the layer.
 */
export const VERSIONS_KEPT = 50

/**
 * Stores the user layers and the global layer: their definitions and modules. Every method rejects with STORE_BUSY, STORE_FULL or
 * STORE_FAILED if the store cannot do its work. Then nothing has changed, unless the message says that a write was not confirmed.
 * Every implementation passes `test/support/definition-store.contract.ts`.
 */
export interface DefinitionStore extends ModuleStore {
  /** The source from which the catalog reads one layer. */
  layer(layer: StoredLayer): LayerSource

  /**
   * Makes all changes or none, in one transaction. If anything has changed, raises the layer's revision once. Rejects with the
   * errors of `planWrite`.
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
