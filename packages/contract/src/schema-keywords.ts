import type { JsonObject, JsonValue } from './json.ts'
import { isJsonObject } from './json.ts'

/** The keywords of JSON Schema (draft-07 to 2020-12) below which another schema lies, by how it lies there. */
const ONE = new Set(
  [
    'additionalItems',
    'additionalProperties',
    'contains',
    'contentSchema',
    'else',
    'if',
    'items',
    'not',
  ].concat(['propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties']),
)
const LIST = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
const MAP = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])

export type SchemaPath = readonly (string | number)[]

/** The schemas directly below a schema, with their path from it. Values such as `enum` or `default` hold none. */
export function subschemas(schema: JsonObject): { readonly path: SchemaPath; readonly schema: JsonObject }[] {
  return Object.entries(schema).flatMap(([keyword, value]) =>
    candidates(keyword, value)
      .filter((candidate) => isJsonObject(candidate.value))
      .map(({ path, value: found }) => ({ path, schema: found as JsonObject })),
  )
}

function candidates(keyword: string, value: JsonValue): { path: SchemaPath; value: JsonValue }[] {
  if (Array.isArray(value) && LIST.has(keyword)) {
    return value.map((element: JsonValue, index) => ({ path: [keyword, index], value: element }))
  }
  if (isJsonObject(value) && MAP.has(keyword)) {
    return Object.entries(value).map(([key, member]) => ({ path: [keyword, key], value: member }))
  }
  return ONE.has(keyword) ? [{ path: [keyword], value }] : []
}

/**
 * The schema with what `map` makes of each schema directly below it, `true` and `false` included; the same object where
 * that changes none of them.
 */
export function mapSubschemas(
  schema: JsonObject,
  map: (schema: JsonValue, path: SchemaPath) => JsonValue,
): JsonObject {
  let changed: { [keyword: string]: JsonValue } | undefined
  for (const [keyword, value] of Object.entries(schema)) {
    const mapped = mapBelow(keyword, value, map)
    if (mapped !== value) (changed ??= { ...schema })[keyword] = mapped
  }
  return changed ?? schema
}

function mapBelow(
  keyword: string,
  value: JsonValue,
  map: (schema: JsonValue, path: SchemaPath) => JsonValue,
): JsonValue {
  const changes = new Map<string | number | undefined, JsonValue>()
  for (const { path, value: schema } of candidates(keyword, value)) {
    const mapped = isSchema(schema) ? map(schema, path) : schema
    if (mapped !== schema) changes.set(path[1], mapped)
  }
  if (changes.size === 0) return value
  if (Array.isArray(value)) return value.map((element: JsonValue, index) => changes.get(index) ?? element)
  const single = changes.get(undefined)
  if (single !== undefined) return single
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, member]) => [key, changes.get(key) ?? member]),
  )
}

function isSchema(value: JsonValue): boolean {
  return typeof value === 'boolean' || isJsonObject(value)
}
