import type { StoredDefinition } from '../catalog/stored-definition.ts'
import type { ItemDocument } from './stored-documents.ts'

/** `7-9f2c1a7b3d5e`: the layer's revision and the epoch it counts in. */
export function revisionText(revision: number, epoch: string): string {
  return `${revision}-${epoch}`
}

/** The definition in a document of ours; none in a tombstone. */
export function storedDefinition(item: ItemDocument, epoch: string): StoredDefinition[] {
  if (item.text === null) return []
  const { name, text, digest, updatedAt, updatedBy } = item
  return [{ name, text, digest, revision: revisionText(item.revision, epoch), updatedAt, updatedBy }]
}
