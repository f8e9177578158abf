import type { Digest, Layer } from '@toolrack/contract'
import type { Unenforced } from '../schemas/schema-fault.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { Normalisation } from './normalisation.ts'
import type { DefinitionWriteResult } from './write-result.ts'

/** What a write tells its author about one definition. */
export type WriteAnswer = {
  readonly name: string
  readonly layer: Layer
  readonly digest: Digest
  readonly revision: string
  readonly outcome: DefinitionWriteResult['outcome']
  /** What was read as something else. */
  readonly normalised: readonly Normalisation[]
  /** What stays in the schema for the model but is not enforced. */
  readonly unenforced: readonly Unenforced[]
  /** The definitions of layers below that this one now stands in front of. */
  readonly shadows: readonly { readonly layer: Layer; readonly digest: Digest }[]
}

/** A fault of one item of a bulk. */
export type RefusedItem = DefinitionFault & { readonly index: number }

export type BulkAnswer = {
  readonly results: readonly WriteAnswer[]
  /** Only with `onInvalid=skip`: what was left out, and why. */
  readonly refused?: readonly RefusedItem[]
}
