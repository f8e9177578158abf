import type { Digest } from '@toolrack/contract'
import type { DocumentData } from 'firebase-admin/firestore'

/** The revision of a layer, in the layer's own document. */
export type LayerDocument = { readonly epoch: string; readonly revision: number; readonly size: number }

/** A definition that this service wrote; a null text is the tombstone of a deleted one. */
export type ItemDocument = {
  readonly name: string
  readonly text: string | null
  readonly digest: Digest
  readonly revision: number
  readonly updatedAt: string
  readonly updatedBy: string
  /** The revisions of the versions that are kept, the oldest first. */
  readonly versions: readonly number[]
}

export type VersionDocument = {
  readonly revision: number
  readonly text: string | null
  readonly digest: Digest | null
  readonly at: string
  readonly by: string
}

export function isLayerDocument(data: DocumentData | undefined): data is LayerDocument {
  return typeof data?.['epoch'] === 'string' && typeof data['revision'] === 'number' && typeof data['size'] === 'number'
}

/** Any other document in the collection was written by another program. */
export function isItemDocument(data: DocumentData | undefined): data is ItemDocument {
  const text: unknown = data?.['text']
  return (
    (typeof text === 'string' || text === null) &&
    typeof data?.['name'] === 'string' &&
    typeof data['digest'] === 'string' &&
    typeof data['revision'] === 'number' &&
    Array.isArray(data['versions'])
  )
}
