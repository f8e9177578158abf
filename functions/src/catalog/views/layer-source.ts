import type { Digest } from '@toolrack/contract'

/** A layer that is written through the service. The file layer is not such a layer. */
export type StoredLayer = { readonly kind: 'global' } | { readonly kind: 'user'; readonly uid: string }

/** An item of a layer that was left out because of a fault. */
export type SkippedItem = {
  /** The file or document of the item, never an absolute path. */
  readonly source: string
  readonly pointer: string
  readonly message: string
  /** The name that the item would define, if the name is known. */
  readonly name?: string
}

/** The place of an item as messages write it. */
export function placeOf({ source, pointer }: Pick<SkippedItem, 'source' | 'pointer'>): string {
  return `${source}${pointer && `#${pointer}`}`
}

/** The result of reading a layer: the whole layer, or the changes since the revision that the reader has. */
export type LayerRead = {
  /** An opaque text. Equal revisions mean equal layers. */
  readonly revision: string
  readonly whole: boolean
  readonly definitions: readonly StoredDefinition[]
  /** Names that were deleted since the revision that the reader has. Empty if `whole` is true. */
  readonly deleted: readonly string[]
  /**
   * The revision at which each name was deleted. If `whole` is true, it has all deletions that the store still knows, otherwise
   * the names in `deleted`. It is missing for a layer without numbered revisions.
   */
  readonly deletions?: readonly Deletion[]
  /** The revision of the newest deletion that the store no longer knows. Missing if the store knows all deletions. */
  readonly forgotten?: string | undefined
  readonly skipped: readonly SkippedItem[]
}

export type Deletion = { readonly name: string; readonly revision: string }

/** Reads one layer: the whole layer the first time, and only the changes afterwards. */
export interface LayerSource {
  /** Prepares all reads, for example loads a client. Does not count against the deadline of a read. Never rejects. */
  open?(): Promise<void>
  /** Costs one read of the store if `since` is the present revision. Returns the whole layer if `since` is not known. */
  read(since?: string): Promise<LayerRead>
}

/** A definition in a layer: its JSON text as it was admitted, and its origin. */
export type StoredDefinition = {
  readonly name: string
  readonly text: string
  readonly digest: Digest
  /** The layer's revision when this content was written. */
  readonly revision: string
  /** The time of the last write, in ISO 8601 and UTC. Absent in the file layer. */
  readonly updatedAt?: string
  readonly updatedBy?: string
  /** The origin of a definition that this service did not write: a file with a pointer, or a document of another program. */
  readonly source?: string
  /** The tokens that the definition takes in a list, as `storedTokens` writes them. Missing if they were not counted. */
  readonly tokens?: string | undefined
}
