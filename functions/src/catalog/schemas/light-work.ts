import { isJsonObject, type JsonObject, type JsonValue, type ToolDefinition } from '@toolrack/contract'
import { expandedWeight, schemasOf } from './expanded-weight.ts'

/** The most characters of a light definition. Even the worst definition of this length compiles in 30 ms. */
const TEXT_MAX = 4_096
/**
 * The most work of a cheap check: the characters of the definition times the weight of the arguments. The weight of a value is 8,
 * plus the characters of the value and of its name. The worst case takes 10 ms: each value fails every check of the schema.
 */
const WORK_MAX = 2_000_000
/**
 * The most errors of a cheap check, which bounds its memory: values of the schema times values of the arguments. There are never
 * more errors than this product, because no value is checked twice against the same part of a schema. 20,000 errors take 5 MB.
 */
const ERRORS_MAX = 20_000

/** Keywords that check nothing, or whose cost depends only on the length of the value. */
const LIGHT = new Set(
  ['$schema', 'title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly']
    .concat(['type', 'nullable', 'enum', 'const', 'format', 'minimum', 'maximum', 'exclusiveMinimum'])
    .concat(['exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'])
    .concat(['minProperties', 'maxProperties', 'required', 'properties', 'additionalProperties', 'items'])
    .concat(['anyOf', 'oneOf', 'allOf', 'not']),
)

/**
 * How much each check against a light definition costs: the characters of the text, and the number of JSON values in the schema.
 */
export type LightDefinition = { readonly characters: number; readonly weight: number }

/**
 * The cost of checks against a definition, or undefined if the cost may be large. The cost is small if the definition is short,
 * and has no references, no patterns, and no keywords that compare elements with each other.
 */
export function lightDefinition(text: string): LightDefinition | undefined {
  if (text.length > TEXT_MAX) return undefined
  const { parameters } = (JSON.parse(text) as ToolDefinition).function
  if (!schemasOf(parameters).every((schema) => Object.entries(schema).every(isLight))) return undefined
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

/** The number of values in the arguments. Undefined if checking them against the light definition could be expensive. */
export function lightArguments(args: JsonObject, light: LightDefinition): number | undefined {
  const valuesMax = ERRORS_MAX / light.weight
  let weightLeft = WORK_MAX / light.characters
  let values = 0
  const pending: JsonValue[] = [args]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    values += 1
    weightLeft -= typeof value === 'string' ? 8 + value.length : 8
    if (weightLeft <= 0 || values > valuesMax) return undefined
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value)) for (const name of Object.keys(value)) weightLeft -= name.length
    for (const below of Object.values<JsonValue>(value)) pending.push(below)
  }
  return values
}
