import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { localTarget } from './local-target.ts'
import { typesOf } from './types-of.ts'

/**
 * Whether a schema may admit null; it says no only where that is certain. `root` is what references lead into, which
 * has no recursion.
 */
export function admitsNull(schema: JsonValue, root: JsonObject): boolean {
  if (!isJsonObject(schema)) return schema !== false
  const { type, nullable, enum: values, const: value, anyOf, $ref: ref } = schema
  if (type !== undefined && !typesOf(schema).includes('null')) return nullable === true
  if (Array.isArray(values) && !values.includes(null)) return false
  if (value !== undefined && value !== null) return false
  if (Array.isArray(anyOf) && !anyOf.some((one: JsonValue) => admitsNull(one, root))) return false
  if (ref === undefined) return true
  const target = localTarget(root, ref)
  return target === undefined || target === schema || admitsNull(target, root)
}
