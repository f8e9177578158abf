import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, jsonPointer, pointerKeys, subschemas, valueAt } from '@toolrack/contract'
import type { SchemaFault } from './schema-fault.ts'
import { SCHEMA_LIMITS } from './schema-limits.ts'

/** Keywords whose target is not known before validation, or that move what `#` means: never needed by a tool's parameters. */
const DYNAMIC = ['$dynamicRef', '$recursiveRef', '$dynamicAnchor', '$recursiveAnchor', '$vocabulary'] as const

/** The JSON values of a schema once every `$ref` is written out, or why they are not counted. */
export type ExpandedWeight = { readonly weight: number } | { readonly fault: SchemaFault }

class Refused extends Error {
  readonly fault: SchemaFault
  constructor(path: readonly (string | number)[], message: string) {
    super(message)
    this.fault = { pointer: jsonPointer(path), message }
  }
}

/**
 * Follows every `$ref` and weighs the schema as if each were written out: local pointers only, no cycle, no more than
 * `weightMax` values. Costs one visit per schema object, however large the written-out form would be. The caller has
 * checked the depth, so recursion is bounded by depth plus the number of references.
 */
export function expandedWeight(root: JsonObject): ExpandedWeight {
  const weights = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()
  const schemas = new Set(schemasOf(root))

  function weigh(schema: JsonObject, path: readonly (string | number)[]): number {
    const known = weights.get(schema)
    if (known !== undefined) return known
    open.add(schema)
    let weight = ownValues(schema)
    for (const child of subschemas(schema)) weight += weigh(child.schema, [...path, ...child.path])
    const target = referenced(root, schema, path)
    if (target) weight += weighTarget(target, path)
    if (weight > SCHEMA_LIMITS.weightMax) {
      throw new Refused(
        path,
        `with every $ref written out the schema has more than ${SCHEMA_LIMITS.weightMax} values`,
      )
    }
    open.delete(schema)
    weights.set(schema, weight)
    return weight
  }

  /** A cycle is the fault of the reference that closes it; anything else lies where the target stands. */
  function weighTarget(target: Target, path: readonly (string | number)[]): number {
    if (!schemas.has(target.schema)) {
      throw new Refused(
        [...path, '$ref'],
        'the $ref leads to a place where no schema stands; move it to $defs',
      )
    }
    if (open.has(target.schema)) {
      throw new Refused(
        [...path, '$ref'],
        'the $ref leads back to a schema that holds it; recursion is not admitted',
      )
    }
    return weigh(target.schema, target.path)
  }

  try {
    return { weight: weigh(root, []) }
  } catch (error) {
    if (error instanceof Refused) return { fault: error.fault }
    throw error
  }
}

/** Why a schema is refused for its references; undefined when all is well. */
export function expandedWeightFault(root: JsonObject): SchemaFault | undefined {
  const expanded = expandedWeight(root)
  return 'fault' in expanded ? expanded.fault : undefined
}

/** The schema and every schema below it. */
function schemasOf(schema: JsonObject): JsonObject[] {
  return [schema, ...subschemas(schema).flatMap((child) => schemasOf(child.schema))]
}

/** The values of a schema that are not part of a schema below it. */
function ownValues(schema: JsonObject): number {
  return subschemas(schema).reduce((sum, child) => sum - values(child.schema), values(schema))
}

function values(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, child: JsonValue) => sum + values(child), 1)
}

type Target = { readonly schema: JsonObject; readonly path: readonly string[] }

/** The schema that `$ref` names and where it stands, or undefined without one. Refuses whatever is not a local JSON Pointer to a schema. */
function referenced(
  root: JsonObject,
  schema: JsonObject,
  path: readonly (string | number)[],
): Target | undefined {
  for (const keyword of DYNAMIC) {
    if (schema[keyword] !== undefined)
      throw new Refused([...path, keyword], `${keyword} is not admitted; use $ref to #/$defs/…`)
  }
  if (schema['$id'] !== undefined && path.length > 0) {
    throw new Refused([...path, '$id'], '$id is admitted at the root only, for it changes what $ref means')
  }
  const ref = schema['$ref']
  if (ref === undefined) return undefined
  const at = [...path, '$ref']
  if (typeof ref !== 'string') throw new Refused(at, '$ref must be a string')
  if (!ref.startsWith('#'))
    throw new Refused(at, 'only a local $ref such as #/$defs/name is admitted; nothing is fetched')
  const keys = pointerKeys(decode(ref.slice(1), at))
  if (!keys)
    throw new Refused(at, 'the $ref must be a JSON Pointer such as #/$defs/name; anchors are not followed')
  const target = valueAt(root, keys)
  if (target === true || target === false) return undefined
  if (!isJsonObject(target))
    throw new Refused(at, 'the $ref leads to nothing, or to something that is not a schema')
  return { schema: target, path: keys }
}

function decode(text: string, path: readonly (string | number)[]): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Refused(path, 'the $ref is not valid percent-encoding')
  }
}
