import type { Digest } from '@toolrack/contract'

/** A layer that is written through the service. The file layer is not such a layer. */
export type StoredLayer = { readonly kind: 'global' } | { readonly kind: 'user'; readonly uid: string }

/** An item of a layer that was left out because of a fault. */
export type SkippedItem = {
  /** The file or document of the item, never an absolute path. */
  readonly source: string
  readonly pointer: string
  readonly message: string
  /** The name that the item would have defined, if it is known. */
  readonly name?: string
}

/** Where an item is, as messages show it. */
export function placeOf({ source, pointer }: Pick<SkippedItem, 'source' | 'pointer'>): string {
  return `${source}${pointer && `#${pointer}`}`
}

/** The result of reading a layer: the whole layer, or the changes since the revision that the reader has. */
export type LayerRead = {
  /** An opaque text. Equal revisions mean equal layers. */
  readonly revision: string
  readonly whole: boolean
  readonly definitions: readonly StoredDefinition[]
  /** The names that were deleted since the revision that the reader has. Empty if `whole` is true. */
  readonly deleted: readonly string[]
  /**
   * The revision at which each name was deleted. If `whole` is true, it has all deletions that the store remembers, otherwise
   * those of the names in `deleted`. It is missing for a layer without numbered revisions.
   */
  readonly deletions?: readonly Deletion[]
  /** The revision of the newest deletion that the store no longer remembers. Missing if it remembers all deletions. */
  readonly forgotten?: string | undefined
  readonly skipped: readonly SkippedItem[]
}

export type Deletion = { readonly name: string; readonly revision: string }

/** The place from which one layer is read: the whole layer the first time, and afterwards only the changes. */
export interface LayerSource {
  /** Prepares for reads, for example loads a client. Its time does not count against the deadline of a read. Never rejects. */
  open?(): Promise<void>
  /** If `since` is the present revision, costs only one read of the store. If `since` is not known, returns the whole layer. */
  read(since?: string): Promise<LayerRead>
}

/** A definition in a layer: its JSON text as it was admitted, and where it comes from. */
export type StoredDefinition = {
  readonly name: string
  readonly text: string
  readonly digest: Digest
  /** The layer's revision when this content was written. */
  readonly revision: string
  /** When the definition was last written, in ISO 8601 and UTC. Absent in the file layer. */
  readonly updatedAt?: string
  readonly updatedBy?: string
  /**
   * Where the definition comes from, if this service did not write it: a file with a JSON Pointer, or a document of another
   * program.
   */
  readonly source?: string
  /**
   * The numbers of tokens that the definition takes in a list, as `storedTokens` writes them. Missing if they were not counted.
   */
  readonly tokens?: string | undefined
}
