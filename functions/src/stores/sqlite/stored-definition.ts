import type { Digest } from '@toolrack/contract'
import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type { DefinitionRow } from './statements.ts'

export function storedDefinition(row: DefinitionRow, text: string, epoch: string): StoredDefinition {
  return {
    name: row.name,
    text,
    digest: row.digest as Digest,
    revision: revisionText(row.revision, epoch),
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}

export function identity(definition: StoredDefinition | undefined): { digest: Digest; revision: string } {
  if (!definition) throw new Error('planWrite let a change through that needs a definition')
  return { digest: definition.digest, revision: definition.revision }
}
