import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { isJsonObject, subschemas } from '@toolrack/contract'
import { expandedWeight } from './expanded-weight.ts'

/** Characters of a definition's text. 4,096 are enough for 600 branches, which compile in 30 ms. */
const TEXT_MAX = 4_096
/**
 * Bounds the time of a check: characters of a definition times the weight of the arguments. The weight of a value is 8, plus
 * its characters and those of its name. The worst case, in which each value fails everywhere, takes 10 ms.
 */
const WORK_MAX = 2_000_000
/**
 * Bounds the memory of a check: values of a schema times values of the arguments. There are never more errors, because no
 * value is checked twice against the same part of a schema. 20,000 errors take 5 MB.
 */
const ERRORS_MAX = 20_000

/** Keywords that check nothing, or whose check costs little apart from the length of the value. */
const LIGHT = new Set(
  ['$schema', 'title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly']
    .concat(['type', 'nullable', 'enum', 'const', 'format', 'minimum', 'maximum', 'exclusiveMinimum'])
    .concat(['exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'])
    .concat(['minProperties', 'maxProperties', 'required', 'properties', 'additionalProperties', 'items'])
    .concat(['anyOf', 'oneOf', 'allOf', 'not']),
)

/** The cost of checks against a light definition: the characters of its text, and the JSON values of its schema. */
export type LightDefinition = { readonly characters: number; readonly weight: number }

/**
 * The cost of checks against a definition, if it is certainly small. The definition must be short, without references and
 * patterns, and without keywords that compare elements with each other. Undefined for any other definition.
 */
export function lightDefinition(text: string): LightDefinition | undefined {
  if (text.length > TEXT_MAX) return undefined
  const { parameters } = (JSON.parse(text) as ToolDefinition).function
  const pending: JsonObject[] = [parameters]
  for (let schema = pending.pop(); schema; schema = pending.pop()) {
    if (!Object.entries(schema).every(isLight)) return undefined
    pending.push(...subschemas(schema).map((below) => below.schema))
  }
  const { weight, fault } = expandedWeight(parameters)
  return fault ? undefined : { characters: text.length, weight }
}

function isLight([keyword, value]: readonly [string, JsonValue]): boolean {
  if (keyword === 'enum') return Array.isArray(value) && value.every(isScalar)
  return LIGHT.has(keyword) && (keyword !== 'const' || isScalar(value))
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null
}

/**
 * The number of values in the arguments. Undefined if a check of these arguments against the light definition is not
 * cheap.
 */
export function lightArguments(
  args: JsonObject,
  { characters, weight }: LightDefinition,
): number | undefined {
  const valuesMax = ERRORS_MAX / weight
  let left = WORK_MAX / characters
  let values = 0
  const pending: JsonValue[] = [args]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    values += 1
    left -= typeof value === 'string' ? 8 + value.length : 8
    if (left <= 0 || values > valuesMax) return undefined
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value)) for (const name of Object.keys(value)) left -= name.length
    for (const below of Object.values<JsonValue>(value)) pending.push(below)
  }
  return values
}
