import type { Digest } from '@toolrack/contract'
import type { LayerLimits } from './layer-totals.ts'

/** What a write does if a definition with the same name exists already. */
export const ON_CONFLICT = ['upsert', 'skip', 'error'] as const
export type OnConflict = (typeof ON_CONFLICT)[number]

export type DefinitionPut = {
  readonly kind: 'put'
  readonly name: string
  readonly text: string
  readonly digest: Digest
  /** See `StoredDefinition`. */
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

/**
 * The required state of a record. `ifMatch`: the record exists (`*`), or has one of these entity tags. `ifNoneMatch`: the record
 * does not exist (`*`), or has none of these entity tags.
 */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** True if a record with this tag fulfils the precondition. An undefined tag means that there is no record. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  const matches = (tags: '*' | ReadonlySet<string>) => tag !== undefined && (tags === '*' || tags.has(tag))
  return (!ifMatch || matches(ifMatch)) && !(ifNoneMatch && matches(ifNoneMatch))
}

export type WriteContext = { readonly by: string; readonly at: Date; readonly limits: LayerLimits }

export type DefinitionWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped' | 'deleted'
  readonly digest: Digest
  /** The revision of the definition's content. It is an older revision if the outcome is `unchanged` or `skipped`. */
  readonly revision: string
}
