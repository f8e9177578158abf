import { isJsonArray, isJsonObject, type JsonObject } from '../json.ts'
import { mapSubschemas, SchemaError, typesOf, type SchemaPath } from '../schema-keywords.ts'

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** Matches references to keywords of draft-07 that have changed in 2020-12. */
const MOVED = /\/(?:items\/\d+|additionalItems|dependencies)(?:\/|$)/

/** The keywords for which vendors accept the schema `true` or `false`. */
const MAY_BE_BOOLEAN = new Set(['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'])

/**
 * Converts a schema to what vendors read: JSON Schema 2020-12, without `$schema`, and with an object in place of `true` or
 * `false`. Returns the same object if it is so already. Throws SchemaError if a reference refers to a keyword that has changed in
 * 2020-12.
 */
export function currentSchema(root: JsonObject): JsonObject {
  const { $schema: draft, ...schema } = root
  if (draft === undefined) return objectSchemas(root)
  const isDraft07 = typeof draft === 'string' && DRAFT_07.test(draft)
  return objectSchemas(isDraft07 ? fromDraft07(schema, []) : schema)
}

/** Adds `items: {}` to each array schema without `items`. OpenAI and Gemini require `items`. */
export function arraysWithItems(schema: JsonObject): JsonObject {
  const below = mapSubschemas(schema, (child) => (isJsonObject(child) ? arraysWithItems(child) : child))
  const needsItems = typesOf(below).includes('array') && below['items'] === undefined
  return needsItems ? { ...below, items: {} } : below
}

/** Throws SchemaError if the root of the schema has one of these keywords. */
export function refuseAtRoot(schema: JsonObject, keywords: readonly string[]): void {
  const found = keywords.find((keyword) => schema[keyword] !== undefined)
  if (found !== undefined)
    throw new SchemaError(
      [found],
      `${found} stands at the root, where the vendor takes plain parameters only; put it below one of them`,
    )
}

/** Throws SchemaError if a parameter at the root has a name that is not allowed. `rule` describes the allowed names. */
export function refuseParameterNames(schema: JsonObject, allowed: RegExp, rule: string): void {
  const name = Object.keys(schema['properties'] ?? {}).find((one) => !allowed.test(one))
  if (name !== undefined)
    throw new SchemaError(['properties', name], `the vendor refuses this parameter's name; it takes ${rule}`)
}

/** Replaces the schema `true` by `{}` and the schema `false` by `{"not":{}}`. */
function objectSchemas(schema: JsonObject): JsonObject {
  return mapSubschemas(schema, (child, [keyword]) => {
    if (isJsonObject(child)) return objectSchemas(child)
    if (MAY_BE_BOOLEAN.has(String(keyword))) return child
    return child === true ? {} : { not: {} }
  })
}

/**
 * Converts a schema of draft-07 to 2020-12. Keywords beside a `$ref` stay in effect, because the check of the arguments uses them
 * too. Draft-07 itself ignores them.
 */
function fromDraft07(schema: JsonObject, path: SchemaPath): JsonObject {
  const { $ref: ref } = schema
  if (typeof ref === 'string' && MOVED.test(ref))
    throw new SchemaError(
      [...path, '$ref'],
      'the $ref leads to a place that 2020-12 writes in another way; put the schema below $defs',
    )
  const below = mapSubschemas(schema, (child, at) =>
    isJsonObject(child) ? fromDraft07(child, [...path, ...at]) : child,
  )
  return withDependencies(withPrefixItems(below))
}

/** Renames `items` to `prefixItems` if it is a list, and then `additionalItems` to `items`. */
function withPrefixItems({ additionalItems, ...schema }: JsonObject): JsonObject {
  const { items, ...rest } = schema
  if (!isJsonArray(items)) return schema
  return {
    ...rest,
    // JSON Schema 2020-12 does not allow an empty `prefixItems`.
    ...(items.length > 0 && { prefixItems: items }),
    ...(additionalItems !== undefined && { items: additionalItems }),
  }
}

function withDependencies(schema: JsonObject): JsonObject {
  const { dependencies, ...rest } = schema
  if (!isJsonObject(dependencies)) return schema
  const entries = Object.entries(dependencies)
  const names = entries.filter(([, value]) => Array.isArray(value))
  const schemas = entries.filter(([, value]) => !Array.isArray(value))
  return {
    ...rest,
    ...(names.length > 0 && { dependentRequired: Object.fromEntries(names) }),
    ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
  }
}
