import type { JsonObject } from '@toolrack/contract'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { AuditEvent } from './record.ts'
import { recordedArguments } from '../../redaction/redact.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'

/** The tool of a call and its arguments, as a record has them. */
export type ToolFacts = Pick<AuditEvent, 'tool' | 'layer' | 'digest' | 'arguments' | 'argumentsHash'>

/** `stored` are the stored secrets that the tool gets. */
export function toolFacts(
  entry: CatalogEntry,
  args: JsonObject | undefined,
  stored?: StoredSecrets,
): ToolFacts {
  const { name: tool, layer, digest, stored: definition } = entry
  const shown = args && stored ? stored.withoutInObject(args) : args
  return { tool, layer, digest, ...(shown && recordedArguments(shown, marksOf(definition))) }
}
