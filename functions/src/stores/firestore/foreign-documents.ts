import type { SkippedItem, StoredDefinition } from '../../catalog/views/layer-source.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { FoundDocument } from './stored-documents.ts'
import { isToolName, jsonPointer, type JsonObject, type JsonValue } from '@toolrack/contract'
import type { DocumentData } from 'firebase-admin/firestore'
import { admitDefinition } from '../../catalog/definitions/admit-definition.ts'
import type { JsonFault } from '../../json/json-fault.ts'
import { ValueWithoutJson } from './rest-data.ts'

const SCHEMA_KEYS = ['parameters', 'inputSchema', 'input_schema', 'parametersJsonSchema']

/** Keys that only a tool has. A document without any of them is not a tool, even if it has a name. */
const TOOL_KEYS = ['function', 'description', 'desc', 'defs', 'spec', ...SCHEMA_KEYS]

/**
 * The keys that are read of a definition in the stored shape (`KEYS`), and of any other definition (`FLAT_KEYS`). Other keys are
 * ignored.
 */
const KEYS =
  'type function name id toolName description desc runner workflowName category tags annotations limits onFailure sealed'.split(
    ' ',
  )
const FLAT_KEYS = [...KEYS, 'title', 'defs', 'spec', ...SCHEMA_KEYS]

const NO_TOOL = 'is no definition: it has neither a function, a description nor parameters'
const CHANGED = 'was written by this service and changed by another program; write the definition again'

/** The most faults that are listed of one skipped document, so that the list stays small. */
const SKIPPED_FAULTS_MAX = 3

/** The part of a layer's content that other programs wrote. */
export type ForeignContent = {
  readonly definitions: readonly StoredDefinition[]
  readonly skipped: readonly SkippedItem[]
  /**
   * The ids of the documents of other programs, and the names that they define. If this service writes one of these names,
   * `definitions` or `skipped` may change too. Then the whole layer must be read again.
   */
  readonly touched: ReadonlySet<string>
}

export const NOTHING_FOREIGN: ForeignContent = { definitions: [], skipped: [], touched: new Set() }

type ForeignRead = { readonly definition: StoredDefinition } | { readonly skipped: readonly SkippedItem[] }

/**
 * Returns a function that reads the documents of other programs in one layer. If a document has not changed, it is not read
 * again. If several documents define a name, this service's own definition counts or, without one, the document with the first
 * id.
 */
export function foreignReader(compilers: SchemaCompilers) {
  let knownBefore = new Map<string, { updatedAt: string; read: ForeignRead }>()

  return async (documents: readonly FoundDocument[], own: ReadonlySet<string>): Promise<ForeignContent> => {
    const known: typeof knownBefore = new Map()
    const definitions = new Map<string, StoredDefinition>()
    const skipped: SkippedItem[] = []
    const touched = new Set<string>()
    for (const document of documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, updatedAt } = document
      const before = knownBefore.get(id)
      const read =
        before?.updatedAt === updatedAt ? before.read : await foreignDefinition(document, compilers)
      known.set(id, { updatedAt, read })
      touched.add(id)
      if ('skipped' in read) {
        skipped.push(...read.skipped)
        continue
      }
      const { name, source = '' } = read.definition
      touched.add(name)
      if (own.has(name) || definitions.has(name))
        skipped.push({ source, pointer: '', message: `the name ${name} is taken by another document`, name })
      else definitions.set(name, read.definition)
    }
    knownBefore = known
    return { definitions: [...definitions.values()], skipped, touched }
  }
}

/**
 * Reads a document of another program as a definition. Such a document may have any id. Its schema is a map of Firestore, and not
 * a JSON text.
 */
export async function foreignDefinition(
  document: FoundDocument,
  compilers: SchemaCompilers,
): Promise<ForeignRead> {
  const source = `document ${document.id.slice(0, 128)}`
  const { data = {} } = document
  const { name: sentName }: DocumentData = isObject(data['function']) ? data['function'] : data
  const named = typeof sentName === 'string' ? sentName : document.id
  const name = isToolName(named) ? { name: named } : {}
  if (!TOOL_KEYS.some((key) => key in data))
    return { skipped: [{ source, pointer: '', message: 'textHash' in data ? CHANGED : NO_TOOL, ...name }] }
  const keys = 'function' in data ? KEYS : FLAT_KEYS
  const fields = Object.fromEntries(Object.entries(data).filter(([key]) => keys.includes(key)))
  // If the document has no name, its id is the name, because the original service adds the id to the fields.
  const read = documentJson('toolName' in fields ? fields : { id: document.id, ...fields })
  const admission = 'faults' in read ? read : await admitDefinition(read.json, compilers.own)
  if ('faults' in admission) {
    const faults = admission.faults.slice(0, SKIPPED_FAULTS_MAX)
    return { skipped: faults.map(({ pointer, message }) => ({ source, pointer, message, ...name })) }
  }
  const { definition, text, digest } = admission
  return { definition: { name: definition.function.name, text, digest, revision: digest.slice(-12), source } }
}

/** Converts fields to JSON. If JSON cannot represent a field (a time, a place, a reference, bytes, NaN), returns its fault. */
export function documentJson(
  data: DocumentData,
): { readonly json: JsonObject } | { readonly faults: readonly JsonFault[] } {
  const faults: JsonFault[] = []
  const json = jsonObject(data, [], faults)
  return faults.length > 0 ? { faults } : { json }
}

function jsonValue(value: unknown, path: readonly PropertyKey[], faults: JsonFault[]): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) return value.map((item, index) => jsonValue(item, [...path, index], faults))
  // In data from Firestore, an object of any class is not a map.
  if (isObject(value) && Object.getPrototypeOf(value) === Object.prototype)
    return jsonObject(value, path, faults)
  faults.push({ pointer: jsonPointer(path), message: `is ${kindOf(value)}, which has no form in JSON` })
  return null
}

function jsonObject(map: DocumentData, path: readonly PropertyKey[], faults: JsonFault[]): JsonObject {
  const entries = Object.entries(map) as [string, unknown][]
  return Object.fromEntries(
    entries.map(([key, value]): [string, JsonValue] => [key, jsonValue(value, [...path, key], faults)]),
  )
}

function isObject(value: unknown): value is DocumentData {
  return typeof value === 'object' && value !== null
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return 'not a finite number'
  return `a ${value instanceof ValueWithoutJson ? value.kind : (value as object).constructor.name}`
}
