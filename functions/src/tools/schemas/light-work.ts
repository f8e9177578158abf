import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { isJsonObject, subschemas } from '@toolrack/contract'
import { expandedWeight } from './expanded-weight.ts'

/** Characters of a definition's text. That is room for 600 branches, which compile in 30 ms. */
const TEXT_MAX = 4_096
/**
 * Bounds the time: characters of a definition times the weight of the arguments, where a value weighs 8, its characters and
 * those of its name. It takes 10 ms at worst, if each value fails everywhere.
 */
const WORK_MAX = 2_000_000
/**
 * Bounds the memory: values of a schema times values of the arguments. No value is checked against one part of a schema twice,
 * so there are never more errors. So many take 5 MB.
 */
const ERRORS_MAX = 20_000

/** Keywords that cost little beside the length of the value that they check, or that check nothing. */
const LIGHT = new Set(
  ['$schema', 'title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly']
    .concat(['type', 'nullable', 'enum', 'const', 'format', 'minimum', 'maximum', 'exclusiveMinimum'])
    .concat(['exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'])
    .concat(['minProperties', 'maxProperties', 'required', 'properties', 'additionalProperties', 'items'])
    .concat(['anyOf', 'oneOf', 'allOf', 'not']),
)

/** What the checks of a light definition cost: the characters of its text, and the JSON values of its schema. */
export type LightDefinition = { readonly characters: number; readonly weight: number }

/**
 * What the checks against a definition cost, if that is certainly little: the definition has no reference, no pattern and nothing
 * that compares elements with each other, and it is short. Undefined for any other.
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

/** The number of values in arguments for a light definition; undefined if their check is not light. */
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
