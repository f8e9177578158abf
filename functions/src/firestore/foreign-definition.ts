import type { JsonValue } from '@toolrack/contract'
import type { QueryDocumentSnapshot } from 'firebase-admin/firestore'
import type { SkippedItem } from '../catalog/layer-source.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import { admitDefinition } from '../definitions/admit-definition.ts'
import type { SchemaChecker } from '../schemas/schema-checker.ts'

/** Keys of a definition; other programs keep notes of their own beside them. */
const KEYS = ['type', 'function', 'runner', 'workflowName', 'category', 'tags', 'annotations', 'limits', 'sealed']

/** A document that another program wrote: a definition with its schema as a map, under any id. */
export async function foreignDefinition(
  document: QueryDocumentSnapshot,
  checker: SchemaChecker,
): Promise<{ definition: StoredDefinition } | { skipped: readonly SkippedItem[] }> {
  const source = `document ${document.id.slice(0, 128)}`
  const admission = await admitDefinition(definitionOf(document.data()), checker)
  if ('faults' in admission) {
    return { skipped: admission.faults.map(({ pointer, message }) => ({ source, pointer, message })) }
  }
  const { definition, text, digest } = admission
  return { definition: { name: definition.function.name, text, digest, revision: digest.slice(-12), source } }
}

/** Firestore's own types (times, references) become JSON as well as they can; admission judges the result. */
function definitionOf(data: Readonly<Record<string, unknown>>): JsonValue {
  const kept = Object.entries(data).filter(([key]) => KEYS.includes(key))
  const flat = 'function' in data ? kept : Object.entries(data)
  return JSON.parse(JSON.stringify(Object.fromEntries(flat))) as JsonValue
}
