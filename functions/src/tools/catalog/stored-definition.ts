import type { Digest } from '@toolrack/contract'

/** A definition in a layer: its JSON text exactly as admitted, and its origin. */
export type StoredDefinition = {
  readonly name: string
  readonly text: string
  readonly digest: Digest
  /** The layer's revision that this content came with. */
  readonly revision: string
  /** ISO 8601, UTC. A store knows it, a file does not. */
  readonly updatedAt?: string
  readonly updatedBy?: string
  /** The file and pointer that it was read from; only the file layer has one. */
  readonly source?: string
}
