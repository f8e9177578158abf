import { canonicalJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { isAnnotation, mapSubschemas, referencedSchema, SchemaError } from '../schema-keywords.ts'
import type { SchemaPath } from '../schema-keywords.ts'

/** How many JSON characters may be added when references are replaced. A small schema can refer many times to a large one. */
const ADDED_MAX = 128 * 1024

/** Keywords that refuse the same values, whatever other keywords the schema has. */
const INDEPENDENT = new Set(
  [
    ['type', 'enum', 'const', 'required', 'format', 'pattern', 'minLength', 'maxLength'],
    ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    ['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
  ].flat(),
)

/**
 * Replaces each local `$ref` by the schema to which it refers, and removes the definitions. Returns the same object if there are
 * neither. Throws SchemaError for recursion, for keywords beside a `$ref` that cannot be joined with the referenced schema, and
 * if the schema would become too large.
 */
export function inlineRefs(root: JsonObject): JsonObject {
  let added = 0

  function inline(schema: JsonObject, path: SchemaPath, open: readonly JsonObject[]): JsonObject {
    const { $ref: ref, $defs, definitions, ...own } = schema
    const rest = $defs === undefined && definitions === undefined && ref === undefined ? schema : own
    const below = mapSubschemas(rest, (child, at) =>
      isJsonObject(child) ? inline(child, [...path, ...at], open) : child,
    )
    if (ref === undefined) return below
    const at = [...path, '$ref']
    const target = targetOf(root, ref, at, open)
    added += JSON.stringify(target).length
    if (added > ADDED_MAX)
      throw new SchemaError(
        at,
        `the schema has more than ${ADDED_MAX} bytes when its references are written out`,
      )
    return joined(inline(target, at, [...open, target]), below, at)
  }

  return inline(root, [], [root])
}

/**
 * Replaces a `$ref` only at the root of the schema, because some vendors need the properties there. Throws SchemaError for
 * recursion, and for keywords that cannot be joined.
 */
export function inlineRootRef(root: JsonObject): JsonObject {
  let schema = root
  const open = [root]
  while (schema['$ref'] !== undefined) {
    const { $ref: ref, $defs, definitions, ...beside } = schema
    const target = targetOf(root, ref, ['$ref'], open)
    open.push(target)
    schema = {
      ...joined(target, beside, ['$ref']),
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    }
  }
  return schema
}

function targetOf(root: JsonObject, ref: JsonValue, at: SchemaPath, open: readonly JsonObject[]): JsonObject {
  const target = referencedSchema(root, ref)
  if (!target) throw new SchemaError(at, 'the $ref leads to no schema')
  if (open.includes(target)) throw new SchemaError(at, 'the $ref leads back to a schema that holds it')
  return target
}

/** Joins two schemas. The result allows exactly the values that both of them allow. */
function joined(target: JsonObject, beside: JsonObject, at: SchemaPath): JsonObject {
  const schema: { [keyword: string]: JsonValue } = { ...target }
  for (const [keyword, value] of Object.entries(beside)) {
    const known = schema[keyword]
    const isSame = known !== undefined && canonicalJson(known) === canonicalJson(value)
    const isEmpty = keyword === 'properties' && isJsonObject(value) && Object.keys(value).length === 0
    if (isAnnotation(keyword)) schema[keyword] = value
    else if (isSame) continue
    else if (keyword === 'required' && isJsonArray(known) && isJsonArray(value))
      schema[keyword] = [...new Set([...known, ...value])]
    else if (known === undefined && INDEPENDENT.has(keyword)) schema[keyword] = value
    else if (!isEmpty)
      throw new SchemaError(
        at,
        `the $ref stands beside ${keyword}, and the two cannot be joined; write the schema out in its place`,
      )
  }
  return schema
}
