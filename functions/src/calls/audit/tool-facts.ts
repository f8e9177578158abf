import type { JsonObject } from '@toolrack/contract'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { StoredDefinition } from '../../tools/catalog/layer-source.ts'
import type { AuditEvent } from './record.ts'
import { recordedArguments } from './redact.ts'
import { sensitivityOf, type Sensitivity } from './sensitive.ts'

/** What a record says of the tool of a call, and of its arguments. */
export function toolFacts(
  entry: CatalogEntry,
  args: JsonObject | undefined,
): Pick<AuditEvent, 'tool' | 'layer' | 'digest' | 'arguments' | 'argumentsHash'> {
  const { name: tool, layer, digest, stored } = entry
  return { tool, layer, digest, ...(args && recordedArguments(args, marksOf(stored))) }
}

/** What the schema of each definition marks. A definition that is no longer in the catalog takes its entry along. */
const MARKS = new WeakMap<StoredDefinition, Sensitivity>()

function marksOf(stored: StoredDefinition): Sensitivity {
  let marks = MARKS.get(stored)
  if (!marks) MARKS.set(stored, (marks = sensitivityOf(stored.text)))
  return marks
}
