import type { Digest } from '@toolrack/contract'
import type { Precondition } from './precondition.ts'

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
