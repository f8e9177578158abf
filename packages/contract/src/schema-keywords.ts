import { isJsonObject, jsonPointer, pointerKeys, valueAt, type JsonObject, type JsonValue } from './json.ts'

/** Keywords of JSON Schema (draft-07 to 2020-12) whose value is one schema. */
const ONE = new Set(
  [
    ['additionalItems', 'additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not'],
    ['propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'],
  ].flat(),
)
/** Keywords whose value is a list of schemas. */
const LIST = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
/** Keywords whose value is an object with a schema for each name. */
const NAMED = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])

/** Keywords that describe a value but refuse none. */
const ANNOTATION = /^(?:\$comment|title|description|default|examples|deprecated|readOnly|writeOnly)$/

export type SchemaPath = readonly (string | number)[]

/** Thrown if a schema cannot be converted to a dialect. The message is for the author of the schema. */
export class SchemaError extends Error {
  /** JSON Pointer into the schema. */
  readonly pointer: string

  constructor(path: SchemaPath, message: string) {
    super(message)
    this.pointer = jsonPointer(path)
  }
}

export function isAnnotation(keyword: string): boolean {
  return ANNOTATION.test(keyword)
}

/** The values of the keyword `type` as a list. It is empty for a schema without `type`. */
export function typesOf({ type }: JsonObject): readonly JsonValue[] {
  if (type === undefined) return []
  return Array.isArray(type) ? (type as readonly JsonValue[]) : [type]
}

/** The schema that a local `$ref` refers to, or undefined if there is no such schema. */
export function referencedSchema(root: JsonObject, ref: JsonValue): JsonObject | undefined {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
  const keys = pointerKeys(percentDecoded(ref.slice(1)))
  const found = keys && valueAt(root, keys)
  return isJsonObject(found) ? found : undefined
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The schemas directly below a schema. Each path starts at that schema. The values of keywords such as `enum` or
 * `default` are no schemas.
 */
export function subschemas(schema: JsonObject): { readonly path: SchemaPath; readonly schema: JsonObject }[] {
  return Object.entries(schema).flatMap(([keyword, value]) =>
    candidates(keyword, value).flatMap(({ path, value: found }) =>
      isJsonObject(found) ? [{ path, schema: found }] : [],
    ),
  )
}

function candidates(keyword: string, value: JsonValue): { path: SchemaPath; value: JsonValue }[] {
  if (Array.isArray(value) && LIST.has(keyword)) {
    return value.map((element: JsonValue, index) => ({ path: [keyword, index], value: element }))
  }
  if (isJsonObject(value) && NAMED.has(keyword)) {
    return Object.entries(value).map(([key, member]) => ({ path: [keyword, key], value: member }))
  }
  return ONE.has(keyword) ? [{ path: [keyword], value }] : []
}

/**
 * Replaces each schema directly below a schema by the result of `map`. `map` also gets the schemas `true` and `false`. If
 * `map` changes nothing, the result is the same object.
 */
export function mapSubschemas(
  schema: JsonObject,
  map: (schema: JsonValue, path: SchemaPath) => JsonValue,
): JsonObject {
  let changed: { [keyword: string]: JsonValue } | undefined
  for (const [keyword, value] of Object.entries(schema)) {
    const changes = new Map<string | number | undefined, JsonValue>()
    for (const { path, value: below } of candidates(keyword, value)) {
      const mapped = typeof below === 'boolean' || isJsonObject(below) ? map(below, path) : below
      if (mapped !== below) changes.set(path[1], mapped)
    }
    if (changes.size > 0) (changed ??= { ...schema })[keyword] = withChanges(value, changes)
  }
  return changed ?? schema
}

/** Replaces schemas in the value of a keyword, by index or by key. The key `undefined` stands for the whole value. */
function withChanges(
  value: JsonValue,
  changes: ReadonlyMap<string | number | undefined, JsonValue>,
): JsonValue {
  const single = changes.get(undefined)
  if (single !== undefined) return single
  if (Array.isArray(value)) return value.map((element: JsonValue, index) => changes.get(index) ?? element)
  const members = Object.entries(value as JsonObject)
  return Object.fromEntries(members.map(([key, member]) => [key, changes.get(key) ?? member]))
}
