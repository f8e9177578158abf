import type { Digest } from '@toolrack/contract'
import type { Precondition } from '../../precondition.ts'
import type { LayerLimits } from './layer-totals.ts'

/** What a write does if a definition with the same name exists already. */
export const ON_CONFLICT = ['upsert', 'skip', 'error'] as const
export type OnConflict = (typeof ON_CONFLICT)[number]

export type DefinitionPut = {
  readonly kind: 'put'
  readonly name: string
  readonly text: string
  readonly digest: Digest
  /** The numbers of tokens of the definition, in the format of `StoredDefinition`. */
  readonly tokens?: string | undefined
  readonly onConflict: OnConflict
  readonly precondition?: Precondition
}

/** The deletion of a definition or of a module. */
export type DefinitionDelete = {
  readonly kind: 'delete'
  readonly name: string
  readonly precondition?: Precondition
}

export type DefinitionChange = DefinitionPut | DefinitionDelete

export type WriteContext = { readonly by: string; readonly at: Date; readonly limits: LayerLimits }

export type DefinitionWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped' | 'deleted'
  readonly digest: Digest
  /**
   * The layer's revision at which this content was written. If the outcome is `unchanged` or `skipped`, an earlier write wrote
   * it.
   */
  readonly revision: string
}
