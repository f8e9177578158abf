import type { JsonObject } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { mapSubschemas } from '../schema-keywords.ts'
import type { SchemaPath } from '../schema-keywords.ts'
import { Unfit } from './unfit.ts'

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** Where a reference may lead that draft-07 writes at another place than 2020-12 does. */
const MOVED = /\/(?:items\/\d+|additionalItems|dependencies)(?:\/|$)/

/**
 * The same schema in 2020-12, which is what vendors read, and without the `$schema` that says which it is. The same
 * object where it is that already. Throws `Unfit` where a reference leads to what is written elsewhere now.
 */
export function currentDraft(root: JsonObject): JsonObject {
  const { $schema: named, ...schema } = root
  if (named === undefined) return root
  return typeof named === 'string' && DRAFT_07.test(named) ? from07(schema, []) : schema
}

/** Keywords beside a reference count, as they do where arguments are checked. */
function from07(schema: JsonObject, path: SchemaPath): JsonObject {
  const { $ref: ref } = schema
  if (typeof ref === 'string' && MOVED.test(ref))
    throw new Unfit(
      [...path, '$ref'],
      'the $ref leads to a place that 2020-12 writes otherwise; put the schema below $defs',
    )
  const below = mapSubschemas(schema, (child, at) =>
    isJsonObject(child) ? from07(child, [...path, ...at]) : child,
  )
  return withDependencies(withTuple(below))
}

/** `items` as a list, with `additionalItems` for what comes behind it, is `prefixItems` and `items` today. */
function withTuple(schema: JsonObject): JsonObject {
  const { additionalItems, ...others } = schema
  const { items, ...rest } = others
  if (!Array.isArray(items)) return additionalItems === undefined ? schema : others
  return {
    ...rest,
    // 2020-12 wants at least one.
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
