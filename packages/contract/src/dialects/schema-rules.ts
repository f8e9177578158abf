import { isJsonObject, type JsonObject } from '../json.ts'
import { mapSubschemas, SchemaError, typesOf, type SchemaPath } from '../schema-keywords.ts'

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** References to places that 2020-12 writes in another way than draft-07. */
const MOVED = /\/(?:items\/\d+|additionalItems|dependencies)(?:\/|$)/

/** The keywords for which vendors take `true` and `false` as schemas. */
const MAY_BE_BOOLEAN = new Set(['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'])

/**
 * The same schema as vendors read it: in JSON Schema 2020-12, without `$schema`, and with an object for each schema. The
 * same object if it is so already. Throws SchemaError if a reference leads to a place that 2020-12 does not have.
 */
export function currentSchema(root: JsonObject): JsonObject {
  return objectSchemas(currentDraft(root))
}

/** The same schema with `items: {}` in each array that says nothing about its items. OpenAI and Gemini require `items`. */
export function arraysWithItems(schema: JsonObject): JsonObject {
  const below = mapSubschemas(schema, (child) => (isJsonObject(child) ? arraysWithItems(child) : child))
  const needsItems = typesOf(below).includes('array') && below['items'] === undefined
  return needsItems ? { ...below, items: {} } : below
}

/** Throws SchemaError if the root has one of these keywords. */
export function refuseAtRoot(schema: JsonObject, keywords: readonly string[]): void {
  const found = keywords.find((keyword) => schema[keyword] !== undefined)
  if (found !== undefined)
    throw new SchemaError(
      [found],
      `${found} stands at the root, where the vendor takes plain parameters only; put it below one of them`,
    )
}

/** Throws SchemaError if a parameter at the root has a name that is not allowed. `rule` says which names are. */
export function refuseParameterNames(schema: JsonObject, allowed: RegExp, rule: string): void {
  const name = Object.keys(schema['properties'] ?? {}).find((one) => !allowed.test(one))
  if (name !== undefined)
    throw new SchemaError(['properties', name], `the vendor refuses this parameter's name; it takes ${rule}`)
}

/** Writes `true` as `{}` and `false` as `{"not":{}}`. */
function objectSchemas(schema: JsonObject): JsonObject {
  return mapSubschemas(schema, (child, [keyword]) => {
    if (isJsonObject(child)) return objectSchemas(child)
    if (MAY_BE_BOOLEAN.has(String(keyword))) return child
    return child === true ? {} : { not: {} }
  })
}

function currentDraft(root: JsonObject): JsonObject {
  const { $schema: draft, ...schema } = root
  if (draft === undefined) return root
  return typeof draft === 'string' && DRAFT_07.test(draft) ? fromDraft07(schema, []) : schema
}

/** In draft-07 keywords beside a `$ref` have no effect. Here they keep it, as they do where arguments are checked. */
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

/** A list in `items` becomes `prefixItems`, and `additionalItems` becomes `items`. */
function withPrefixItems(schema: JsonObject): JsonObject {
  const { additionalItems, ...others } = schema
  const { items, ...rest } = others
  if (!Array.isArray(items)) return additionalItems === undefined ? schema : others
  return {
    ...rest,
    // 2020-12 does not allow an empty list.
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
