import type { ErrorCode, Layer } from '@toolrack/contract'

/** One thing that is wrong with a definition; `pointer` leads into what its author sent. */
export type DefinitionFault = {
  readonly reason: ErrorCode
  readonly pointer: string
  readonly message: string
  /** The layer of the other definition, where the fault is about one. */
  readonly layer?: Layer
}
