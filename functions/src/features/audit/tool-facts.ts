import type { JsonObject } from '@toolrack/contract'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { AuditEvent } from './record.ts'
import { recordedArguments } from '../../redaction/redact.ts'
import { marksOf } from '../../redaction/sensitive.ts'

/** The tool of a call and its arguments, as a record has them. */
export type ToolFacts = Pick<AuditEvent, 'tool' | 'layer' | 'digest' | 'arguments' | 'argumentsHash'>

export function toolFacts(entry: CatalogEntry, args: JsonObject | undefined): ToolFacts {
  const { name: tool, layer, digest, stored } = entry
  return { tool, layer, digest, ...(args && recordedArguments(args, marksOf(stored))) }
}
