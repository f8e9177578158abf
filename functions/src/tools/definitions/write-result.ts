import type { Digest } from '@toolrack/contract'
import type { LayerLimits } from '../records/layer-totals.ts'

export type WriteContext = { readonly by: string; readonly at: Date; readonly limits: LayerLimits }

export type DefinitionWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped' | 'deleted'
  readonly digest: Digest
  /** The revision that the definition's content came with; of an unchanged or skipped one it is an older one. */
  readonly revision: string
}
