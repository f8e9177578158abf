import { isJsonArray, isJsonObject, jsonPointer, pointerKeys, valueAt } from './json.ts'
import type { JsonObject, JsonValue } from './json.ts'

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

/** Matches keywords that describe a value but refuse none. */
const ANNOTATION = /^(?:\$comment|title|description|default|examples|deprecated|readOnly|writeOnly)$/

export type SchemaPath = readonly (string | number)[]

/** Thrown if a schema cannot be converted to a dialect. The message is for the author of the schema. */
export class SchemaError extends Error {
  /** The place in the schema, as a JSON Pointer. */
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
export function typesOf({ type = [] }: JsonObject): readonly JsonValue[] {
  return isJsonArray(type) ? type : [type]
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
 * The schemas directly below a schema, each with the path of keys that leads to it. Values of `enum` or `default` are not
 * schemas.
 */
export function subschemas(schema: JsonObject): { readonly path: SchemaPath; readonly schema: JsonObject }[] {
  const found: { readonly path: SchemaPath; readonly schema: JsonObject }[] = []
  mapSubschemas(schema, (child, path) => {
    if (isJsonObject(child)) found.push({ path, schema: child })
    return child
  })
  return found
}

/** Returns a JSON value that replaces a schema. It also gets the schemas `true` and `false`. */
type MapSchema = (schema: JsonValue, path: SchemaPath) => JsonValue

/** Replaces each schema directly below a schema by the result of `map`. Returns the same object if nothing changes. */
export function mapSubschemas(schema: JsonObject, map: MapSchema): JsonObject {
  const mapOne: MapSchema = (below, path) =>
    typeof below === 'boolean' || isJsonObject(below) ? map(below, path) : below
  return mapMembers(schema, (value, keyword) => {
    if (isJsonArray(value) && LIST.has(keyword)) {
      const mapped = value.map((element, index) => mapOne(element, [keyword, index]))
      return mapped.some((element, index) => element !== value[index]) ? mapped : value
    }
    if (isJsonObject(value) && NAMED.has(keyword))
      return mapMembers(value, (member, key) => mapOne(member, [keyword, key]))
    return ONE.has(keyword) ? mapOne(value, [keyword]) : value
  })
}

/** Replaces the value of each key by the result of `map`. Returns the same object if nothing changes. */
function mapMembers(object: JsonObject, map: (value: JsonValue, key: string) => JsonValue): JsonObject {
  const entries = Object.entries(object).map(([key, value]) => [key, map(value, key)] as const)
  return entries.some(([key, value]) => value !== object[key]) ? Object.fromEntries(entries) : object
}
