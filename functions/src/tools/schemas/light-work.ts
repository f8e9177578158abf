import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { isJsonObject, subschemas } from '@toolrack/contract'
import { expandedWeight } from './expanded-weight.ts'

/** Characters of a definition: 600 branches are as many as fit, and compile in 30 ms. */
const TEXT_MAX = 4_096
/**
 * Characters of a definition times the weight of arguments, which stands for time: 10 ms for the worst that was found, in
 * which each value fails everywhere. A value weighs its characters and those of its name, and 8.
 */
const WORK_MAX = 2_000_000
/**
 * Values of a schema times values of arguments, which stands for memory: no value is held against a part of a schema more
 * than once, so there are never more errors than that. So many take 5 MB.
 */
const ERRORS_MAX = 20_000

/** What each value that is met costs little beside its own length, or says nothing. */
const LIGHT = new Set(
  ['$schema', 'title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly']
    .concat(['type', 'nullable', 'enum', 'const', 'format', 'minimum', 'maximum', 'exclusiveMinimum'])
    .concat(['exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'])
    .concat(['minProperties', 'maxProperties', 'required', 'properties', 'additionalProperties', 'items'])
    .concat(['anyOf', 'oneOf', 'allOf', 'not']),
)

/** What a light definition has of what its checks cost. */
export type LightDefinition = {
  readonly characters: number
  /** JSON values of its schema. */
  readonly weight: number
}

/**
 * What checking arguments against a definition costs, where that is so little that nobody notices: no reference, no
 * pattern, nothing that holds each element against each other, and few of everything. Undefined for any other definition.
 */
export function lightDefinition(text: string): LightDefinition | undefined {
  if (text.length > TEXT_MAX) return undefined
  const { parameters } = (JSON.parse(text) as ToolDefinition).function
  const pending: JsonObject[] = [parameters]
  for (let schema = pending.pop(); schema; schema = pending.pop()) {
    for (const [keyword, value] of Object.entries(schema)) {
      if (!LIGHT.has(keyword)) return undefined
      if (keyword === 'enum' && !(Array.isArray(value) && value.every(isScalar))) return undefined
      if (keyword === 'const' && !isScalar(value)) return undefined
    }
    pending.push(...subschemas(schema).map((below) => below.schema))
  }
  const expanded = expandedWeight(parameters)
  return 'fault' in expanded ? undefined : { characters: text.length, weight: expanded.weight }
}

/** How many values arguments for a light definition hold; undefined where they are not light themselves. */
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
    if (Array.isArray(value)) for (const below of value as JsonValue[]) pending.push(below)
    else if (isJsonObject(value)) {
      for (const [name, below] of Object.entries(value)) {
        left -= name.length
        pending.push(below)
      }
    }
  }
  return values
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null
}
