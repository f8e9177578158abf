import type { Digest } from '@toolrack/contract'

/** A layer that is written through the service. The file layer is not one. */
export type StoredLayer = { readonly kind: 'global' } | { readonly kind: 'user'; readonly uid: string }

/** An item of a layer that could not be read and was left out: its place and its fault. */
export type SkippedItem = {
  /** A file or document, never an absolute path. */
  readonly source: string
  readonly pointer: string
  readonly message: string
  /** The name that it would define, if that is known. */
  readonly name?: string
}

/** What a read of a layer brings: all of it, or what has changed since the revision that the reader has. */
export type LayerRead = {
  /** Opaque; equal revisions mean equal layers. */
  readonly revision: string
  readonly whole: boolean
  readonly definitions: readonly StoredDefinition[]
  /** Names that are gone since; empty when `whole`. */
  readonly deleted: readonly string[]
  readonly skipped: readonly SkippedItem[]
}

/** One layer, read whole the first time and by its changes afterwards. */
export interface LayerSource {
  /** Gets what every read needs, such as a client that has to be loaded. It does not count as time of a read. Never rejects. */
  open?(): Promise<void>
  /** Costs one read if nothing has changed since. A revision that the source does not know brings the whole layer. */
  read(since?: string): Promise<LayerRead>
}

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
