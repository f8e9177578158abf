import {
  isJsonObject,
  parsedJson,
  pointerKeys,
  valueAt,
  type JsonObject,
  type JsonValue,
} from '@toolrack/contract'
import type { StoredDefinition } from '../../tools/catalog/layer-source.ts'

/** Which parts of a value its schema marks as sensitive. */
export type Sensitivity = {
  readonly isMarked: boolean
  readonly property: (name: string) => Sensitivity
  readonly item: (index: number) => Sensitivity
}

export const NOT_SENSITIVE: Sensitivity = {
  isMarked: false,
  property: () => NOT_SENSITIVE,
  item: () => NOT_SENSITIVE,
}

export function isSensitive({ isMarked }: Sensitivity): boolean {
  return isMarked
}

const KEYWORD = 'x-sensitive'

/** Keywords whose schemas apply to the same value. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'then', 'else', 'if', 'not'] as const

/** The most schemas that are looked at for one value. Of a schema with more, every value is taken as sensitive. */
const SCHEMAS_MAX = 1_000

const MARKED: Sensitivity = { isMarked: true, property: () => MARKED, item: () => MARKED }

/** What the text of a definition marks with `x-sensitive: true`. */
export function sensitivityOf(definitionText: string): Sensitivity {
  if (!definitionText.includes(KEYWORD)) return NOT_SENSITIVE
  const definition = parsedJson(definitionText)
  const parameters = isJsonObject(definition)
    ? (valueAt(definition, ['function', 'parameters']) ?? valueAt(definition, ['parameters']))
    : undefined
  return isJsonObject(parameters) ? ofSchemas(parameters, [parameters]) : NOT_SENSITIVE
}

/** Of a value to which all these schemas may apply. One that marks it is enough: it is not known which of them does apply. */
function ofSchemas(root: JsonObject, schemas: readonly JsonValue[]): Sensitivity {
  const applied = new Set<JsonObject>()
  const waiting = [...schemas]
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    if (!isJsonObject(schema) || applied.has(schema)) continue
    if (applied.size >= SCHEMAS_MAX || schema[KEYWORD] === true) return MARKED
    applied.add(schema)
    const { $ref } = schema
    const keys = typeof $ref === 'string' && $ref.startsWith('#') ? pointerKeys($ref.slice(1)) : undefined
    const target = keys && valueAt(root, keys)
    if (target !== undefined) waiting.push(target)
    for (const keyword of SAME_VALUE) waiting.push(...listOf(schema[keyword]))
  }
  if (applied.size === 0) return NOT_SENSITIVE
  const found = [...applied]
  return {
    isMarked: false,
    property: (name) =>
      ofSchemas(
        root,
        found.flatMap((schema) => ofProperty(schema, name)),
      ),
    item: (index) =>
      ofSchemas(
        root,
        found.flatMap((schema) => ofItem(schema, index)),
      ),
  }
}

function ofProperty({ properties, patternProperties, additionalProperties }: JsonObject, name: string) {
  const named = isJsonObject(properties) && Object.hasOwn(properties, name) ? listOf(properties[name]) : []
  const patterns = isJsonObject(patternProperties) ? Object.values(patternProperties) : []
  // Which pattern a name matches is not computed here: patterns run on another engine.
  return [...named, ...patterns, ...(named.length > 0 ? [] : listOf(additionalProperties))]
}

function ofItem({ items, prefixItems, contains }: JsonObject, index: number): readonly JsonValue[] {
  const prefix = Array.isArray(prefixItems) ? (prefixItems as readonly JsonValue[])[index] : undefined
  return [...listOf(prefix), ...listOf(items), ...listOf(contains)]
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined) return []
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value]
}

/** What the schema of each definition marks. A definition that is no longer in the catalog takes its entry along. */
const MARKS = new WeakMap<StoredDefinition, Sensitivity>()

export function marksOf(stored: StoredDefinition): Sensitivity {
  let marks = MARKS.get(stored)
  if (!marks) MARKS.set(stored, (marks = sensitivityOf(stored.text)))
  return marks
}
