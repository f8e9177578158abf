import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { isJsonObject, subschemas } from '@toolrack/contract'

/** Characters of a definition. */
const TEXT_MAX = 4_096
/** Characters of a definition times the weight of arguments: some milliseconds for the worst, in which each value fails everywhere. */
const WORK_MAX = 2_000_000

/** What each value that is met costs little beside its own length, or says nothing. */
const LIGHT = new Set(
  ['$schema', 'title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly']
    .concat(['type', 'nullable', 'enum', 'const', 'format', 'minimum', 'maximum', 'exclusiveMinimum'])
    .concat(['exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'])
    .concat(['minProperties', 'maxProperties', 'required', 'properties', 'additionalProperties', 'items'])
    .concat(['anyOf', 'oneOf', 'allOf', 'not']),
)

/**
 * Whether checking arguments against a definition is so little work that nobody notices: no reference that leads in
 * circles, no pattern, nothing that holds each element against each other, and few of everything.
 */
export function isLightDefinition(text: string): boolean {
  if (text.length > TEXT_MAX) return false
  const pending: JsonObject[] = [(JSON.parse(text) as ToolDefinition).function.parameters]
  for (let schema = pending.pop(); schema; schema = pending.pop()) {
    for (const [keyword, value] of Object.entries(schema)) {
      if (!LIGHT.has(keyword)) return false
      if (keyword === 'enum' && !(Array.isArray(value) && value.every(isScalar))) return false
      if (keyword === 'const' && !isScalar(value)) return false
    }
    pending.push(...subschemas(schema).map((below) => below.schema))
  }
  return true
}

/** Whether arguments for a light definition are light themselves. */
export function areLightArguments(args: JsonObject, text: string): boolean {
  let left = WORK_MAX / text.length
  const pending: JsonValue[] = [args]
  for (let value = pending.pop(); value !== undefined && left > 0; value = pending.pop()) {
    left -= typeof value === 'string' ? 8 + value.length : 8
    if (Array.isArray(value)) pending.push(...(value as JsonValue[]))
    else if (isJsonObject(value)) {
      for (const [name, below] of Object.entries(value)) {
        left -= name.length
        pending.push(below)
      }
    }
  }
  return left > 0
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null
}
