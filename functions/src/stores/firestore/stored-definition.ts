import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type { ItemDocument } from './stored-documents.ts'

/** The definition in a document of ours; none in a tombstone. */
export function storedDefinition(item: ItemDocument, epoch: string): StoredDefinition[] {
  if (item.text === null) return []
  const { name, text, digest, updatedAt, updatedBy } = item
  return [{ name, text, digest, revision: revisionText(item.revision, epoch), updatedAt, updatedBy }]
}
