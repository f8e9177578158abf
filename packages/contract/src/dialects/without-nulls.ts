import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { admitsNull } from './admits-null.ts'
import { localTarget } from './local-target.ts'

/**
 * The arguments without each null that only says "not given": a strict vendor has its model write every parameter, so
 * that one which may be left out comes as null. What is required, undeclared, or may be null stays. The same object
 * where nothing goes.
 */
export function withoutNulls(parameters: JsonObject, args: JsonObject): JsonObject {
  function clean(value: JsonValue, described: JsonValue | undefined): JsonValue {
    if (typeof value !== 'object' || value === null) return value
    const schema = isJsonObject(described) ? resolved(described) : undefined
    if (!schema) return value
    if (isJsonObject(value)) return cleanObject(value, schema)
    const items = schema['items']
    const cleaned = value.map((element) => clean(element, items))
    return cleaned.some((element, index) => element !== value[index]) ? cleaned : value
  }

  function cleanObject(value: JsonObject, schema: JsonObject): JsonObject {
    const { properties = {}, required } = schema
    const declared: JsonObject = isJsonObject(properties) ? properties : {}
    const needed = Array.isArray(required) ? (required as readonly JsonValue[]) : []
    function isOmitted(key: string, member: JsonValue): boolean {
      const described = Object.hasOwn(declared, key) ? declared[key] : undefined
      return (
        member === null &&
        described !== undefined &&
        !needed.includes(key) &&
        !admitsNull(described, parameters)
      )
    }
    const entries = Object.entries(value)
    const kept = entries
      .filter(([key, member]) => !isOmitted(key, member))
      .map(([key, member]): [string, JsonValue] => [
        key,
        clean(member, Object.hasOwn(declared, key) ? declared[key] : undefined),
      ])
    const isSame = kept.length === entries.length && kept.every(([key, member]) => member === value[key])
    return isSame ? value : Object.fromEntries(kept)
  }

  function resolved(schema: JsonObject): JsonObject | undefined {
    const { $ref: ref } = schema
    return ref === undefined ? schema : localTarget(parameters, ref)
  }

  return cleanObject(args, parameters)
}
