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
