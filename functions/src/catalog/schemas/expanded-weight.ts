import type { JsonObject, JsonValue, SchemaPath } from '@toolrack/contract'
import { isJsonObject, pointerKeys, subschemas, valueAt } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../../json/json-fault.ts'

/**
 * The most JSON values of a schema after every `$ref` is replaced by its target. In a chain of definitions that each refer twice
 * to the next one, each definition doubles the number.
 */
const WEIGHT_MAX = 10_000

/**
 * Keywords whose target is known only during validation, or that change what `#` means. The schema of a tool needs none of them.
 */
const DYNAMIC = ['$dynamicRef', '$recursiveRef', '$dynamicAnchor', '$recursiveAnchor', '$vocabulary'] as const

class WeightError extends Error {
  readonly fault: JsonFault
  constructor(path: SchemaPath, message: string) {
    super(message)
    this.fault = faultAt(path, message)
  }
}

type Place = { readonly schema: JsonObject; readonly path: SchemaPath }

/**
 * The number of JSON values in a schema after every `$ref` is replaced by its target. The weight is Infinity, with a fault, in
 * three cases:
 *
 * - A reference is not a local JSON Pointer to a schema.
 * - There is a cycle.
 * - There are more than 10,000 values.
 *
 * Each schema is visited once. The recursion is bounded by the depth, which the caller has checked, and by the number of
 * references.
 */
export function expandedWeight(root: JsonObject): { readonly weight: number; readonly fault?: JsonFault } {
  const weights = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()
  const schemas = new Set(schemasOf(root))

  function weigh({ schema, path }: Place): number {
    const known = weights.get(schema)
    if (known !== undefined) return known
    open.add(schema)
    let weight = valuesIn(schema)
    for (const child of subschemas(schema))
      weight += weigh({ ...child, path: [...path, ...child.path] }) - valuesIn(child.schema)
    const target = referenced(root, { schema, path })
    if (target) weight += weighTarget(target, [...path, '$ref'])
    if (weight > WEIGHT_MAX)
      throw new WeightError(path, `with every $ref written out the schema has more than ${WEIGHT_MAX} values`)
    open.delete(schema)
    weights.set(schema, weight)
    return weight
  }

  /** The weight of the target of a `$ref`. If there is a cycle, the fault points to the `$ref` that closes the cycle. */
  function weighTarget(target: Place, at: SchemaPath): number {
    if (!schemas.has(target.schema))
      throw new WeightError(at, 'the $ref leads to a place where no schema stands; move it to $defs')
    if (open.has(target.schema))
      throw new WeightError(at, 'the $ref leads back to a schema that holds it; recursion is not admitted')
    return weigh(target)
  }

  try {
    return { weight: weigh({ schema: root, path: [] }) }
  } catch (error) {
    if (error instanceof WeightError) return { weight: Infinity, fault: error.fault }
    throw error
  }
}

export function schemasOf(schema: JsonObject): JsonObject[] {
  return [schema, ...subschemas(schema).flatMap((child) => schemasOf(child.schema))]
}

/** The number of JSON values in a value, including the value itself. Recursive, so the value must not be nested too deeply. */
export function valuesIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, child: JsonValue) => sum + valuesIn(child), 1)
}

/** The target of a schema's `$ref`. Undefined if there is no `$ref`, or if the target is `true` or `false`. */
function referenced(root: JsonObject, { schema, path }: Place): Place | undefined {
  for (const keyword of DYNAMIC)
    if (schema[keyword] !== undefined)
      throw new WeightError([...path, keyword], `${keyword} is not admitted; use $ref to #/$defs/…`)
  if (schema['$id'] !== undefined && path.length > 0)
    throw new WeightError([...path, '$id'], '$id is admitted at the root only; it changes what $ref means')
  const { $ref: ref } = schema
  if (ref === undefined) return undefined
  const at = [...path, '$ref']
  if (typeof ref !== 'string') throw new WeightError(at, '$ref must be a string')
  if (!ref.startsWith('#'))
    throw new WeightError(at, 'only a local $ref such as #/$defs/name is admitted; nothing is fetched')
  const keys = pointerKeys(decoded(ref.slice(1), at))
  if (!keys)
    throw new WeightError(at, 'the $ref must be a JSON Pointer like #/$defs/name; anchors are not followed')
  const target = valueAt(root, keys)
  if (target === true || target === false) return undefined
  if (!isJsonObject(target))
    throw new WeightError(at, 'the $ref leads to nothing, or to something that is not a schema')
  return { schema: target, path: keys }
}

function decoded(text: string, at: SchemaPath): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new WeightError(at, 'the $ref is not valid percent-encoding')
  }
}
