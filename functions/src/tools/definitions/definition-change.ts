import type { Digest } from '@toolrack/contract'
import type { LayerLimits } from '../records/layer-totals.ts'

/** What to do about a definition that exists already. */
export const ON_CONFLICT = ['upsert', 'skip', 'error'] as const
export type OnConflict = (typeof ON_CONFLICT)[number]

export type DefinitionPut = {
  readonly kind: 'put'
  readonly name: string
  readonly text: string
  readonly digest: Digest
  readonly onConflict: OnConflict
  readonly precondition?: Precondition
}

/** Also of a module. */
export type DefinitionDelete = {
  readonly kind: 'delete'
  readonly name: string
  readonly precondition?: Precondition
}

export type DefinitionChange = DefinitionPut | DefinitionDelete

/** The state that a record must have: `*` means that it exists, otherwise it has one of these entity tags. */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** True if a record with this tag keeps to it. Undefined means that there is no record. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  if (ifMatch && !(tag !== undefined && (ifMatch === '*' || ifMatch.has(tag)))) return false
  return !(ifNoneMatch && tag !== undefined && (ifNoneMatch === '*' || ifNoneMatch.has(tag)))
}

export type WriteContext = { readonly by: string; readonly at: Date; readonly limits: LayerLimits }

export type DefinitionWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped' | 'deleted'
  readonly digest: Digest
  /** The revision that the definition's content came with; of an unchanged or skipped one it is an older one. */
  readonly revision: string
}
