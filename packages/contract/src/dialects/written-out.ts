import { canonicalJson } from '../canonical-json.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { mapSubschemas } from '../schema-keywords.ts'
import type { SchemaPath } from '../schema-keywords.ts'
import { isAnnotation } from './annotations.ts'
import { localTarget } from './local-target.ts'
import { Unfit } from './unfit.ts'

/** Characters of JSON that all references of a schema may add: a small one can refer to a large one a thousand times. */
const WRITTEN_OUT_MAX = 128 * 1024

/** Keywords that refuse the same whatever stands beside them, so that two schemas are joined by having both. */
const INDEPENDENT = new Set([
  'const',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'pattern',
  'required',
  'type',
  'uniqueItems',
])

/**
 * The same schema with each local `$ref` replaced by what it leads to, and without definitions. The same object where
 * there are none. Throws `Unfit` for what can't be replaced: recursion, keywords beside a reference that only hold
 * together with it, and what would grow too large.
 */
export function writtenOut(root: JsonObject): JsonObject {
  let added = 0

  function write(schema: JsonObject, path: SchemaPath, open: readonly JsonObject[]): JsonObject {
    const { $ref: ref, $defs: _defs, definitions: _definitions, ...own } = schema
    const rest = _defs === undefined && _definitions === undefined && ref === undefined ? schema : own
    const below = mapSubschemas(rest, (child, at) =>
      isJsonObject(child) ? write(child, [...path, ...at], open) : child,
    )
    if (ref === undefined) return below
    const at = [...path, '$ref']
    const target = localTarget(root, ref)
    if (!target) throw new Unfit(at, 'the $ref leads to no schema')
    if (open.includes(target)) throw new Unfit(at, 'the $ref leads back to a schema that holds it')
    added += JSON.stringify(target).length
    if (added > WRITTEN_OUT_MAX)
      throw new Unfit(
        at,
        `the schema takes more than ${WRITTEN_OUT_MAX} bytes with its references written out`,
      )
    return joined(write(target, at, [...open, target]), below, at)
  }

  return write(root, [], [root])
}

/**
 * The same schema with only a reference at its very root written out, for vendors that read the root's own properties.
 * Throws `Unfit` as `writtenOut` does.
 */
export function rootWrittenOut(root: JsonObject): JsonObject {
  let schema = root
  const seen = new Set([root])
  while (schema['$ref'] !== undefined) {
    const { $ref: ref, ...rest } = schema
    const target = localTarget(root, ref)
    if (!target) throw new Unfit(['$ref'], 'the $ref leads to no schema')
    if (seen.has(target)) throw new Unfit(['$ref'], 'the $ref leads back to a schema that holds it')
    seen.add(target)
    const { $defs, definitions, ...beside } = rest
    schema = {
      ...joined(target, beside, ['$ref']),
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    }
  }
  return schema
}

/** What admits just what both admit. */
function joined(target: JsonObject, beside: JsonObject, at: SchemaPath): JsonObject {
  const schema: { [keyword: string]: JsonValue } = { ...target }
  for (const [keyword, value] of Object.entries(beside)) {
    const known = schema[keyword]
    if (isAnnotation(keyword)) schema[keyword] = value
    else if (known !== undefined && canonicalJson(known) === canonicalJson(value)) continue
    else if (keyword === 'required' && Array.isArray(known) && Array.isArray(value))
      schema[keyword] = union(known, value)
    else if (known === undefined && INDEPENDENT.has(keyword)) schema[keyword] = value
    else if (keyword === 'properties' && isJsonObject(value) && Object.keys(value).length === 0) continue
    else
      throw new Unfit(
        at,
        `the $ref stands beside ${keyword}, and the two can't be joined; write the schema out in its place`,
      )
  }
  return schema
}

function union(known: readonly JsonValue[], more: readonly JsonValue[]): readonly JsonValue[] {
  return [...new Set([...known, ...more])]
}
