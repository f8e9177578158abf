import { isToolName } from '@toolrack/contract'
import type { DocumentData } from 'firebase-admin/firestore'
import type { SkippedItem } from '../../tools/catalog/layer-source.ts'
import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { admitDefinition } from '../../tools/definitions/admit-definition.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { documentJson } from './document-json.ts'
import type { FoundDocument } from './found-document.ts'

/** Keys of a definition in the stored shape; other programs keep notes of their own beside them. */
const KEYS = [
  'type',
  'function',
  'runner',
  'workflowName',
  'category',
  'tags',
  'annotations',
  'limits',
  'sealed',
]
/** The same for a definition that was stored flat. */
const FLAT_KEYS = [
  'name',
  'title',
  'description',
  'parameters',
  'inputSchema',
  'input_schema',
  'parametersJsonSchema',
]

/** A name alone is no tool: without one of these a document is about something else. */
const TOOL_KEYS = [
  'function',
  'description',
  'parameters',
  'inputSchema',
  'input_schema',
  'parametersJsonSchema',
]

const NO_TOOL = 'is no definition: it has neither a function, a description nor parameters'
const CHANGED = 'was written by this service and changed by another program; write the definition again'

const SKIPPED_FAULTS_MAX = 3

export type ForeignRead =
  { readonly definition: StoredDefinition } | { readonly skipped: readonly SkippedItem[] }

/** A document that another program wrote: a definition with its schema as a map, under any id. */
export async function foreignDefinition(
  document: FoundDocument,
  compilers: SchemaCompilers,
): Promise<ForeignRead> {
  const source = `document ${document.id.slice(0, 128)}`
  const { data = {} } = document
  const named = nameIn(data) ?? document.id
  const name = isToolName(named) ? { name: named } : {}
  const isTool = TOOL_KEYS.some((key) => key in data)
  if (!isTool)
    return { skipped: [{ source, pointer: '', message: 'textHash' in data ? CHANGED : NO_TOOL, ...name }] }
  const read = documentJson(definitionPart(data))
  const admission = 'faults' in read ? read : await admitDefinition(read.json, compilers.own)
  if ('faults' in admission) {
    const faults = admission.faults.slice(0, SKIPPED_FAULTS_MAX)
    return { skipped: faults.map(({ pointer, message }) => ({ source, pointer, message, ...name })) }
  }
  const { definition, text, digest } = admission
  return { definition: { name: definition.function.name, text, digest, revision: digest.slice(-12), source } }
}

function definitionPart(data: DocumentData): DocumentData {
  const keys = 'function' in data ? KEYS : [...FLAT_KEYS, ...KEYS]
  return Object.fromEntries(Object.entries(data).filter(([key]) => keys.includes(key)))
}

function nameIn(data: DocumentData): string | undefined {
  const { name }: DocumentData = isMap(data['function']) ? data['function'] : data
  return typeof name === 'string' ? name : undefined
}

function isMap(value: unknown): value is DocumentData {
  return typeof value === 'object' && value !== null
}
