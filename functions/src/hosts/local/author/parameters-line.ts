import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'

/** The most references and branches that are followed to find a type. A reference can lead back to itself. */
const TYPE_DEPTH_MAX = 8

/** The most characters of a default or of a list of values. */
const VALUE_CHARACTERS_MAX = 40

/** The parameters of a tool in one line, such as `location: string, days: integer = 1, note?: string`. */
export function parametersLine(parameters: JsonObject): string {
  const { properties, required } = parameters
  const needed = new Set(Array.isArray(required) ? required : [])
  const entries = isJsonObject(properties) ? Object.entries(properties) : []
  return entries
    .map(([name, schema]) => {
      const type = typeText(schema, parameters)
      if (isJsonObject(schema) && schema['default'] !== undefined)
        return `${name}: ${type} = ${short(schema['default'])}`
      return `${name}${needed.has(name) ? '' : '?'}: ${type}`
    })
    .join(', ')
}

/** The types that a schema allows, such as `integer` and `null`. Empty if it does not say, or is too nested. */
export function typesOf(schema: JsonValue | undefined, root: JsonObject, depth = 0): ReadonlySet<string> {
  const found = new Set<string>()
  if (!isJsonObject(schema) || depth > TYPE_DEPTH_MAX) return found
  const { type, $ref: ref, enum: values, const: only } = schema
  for (const name of Array.isArray(type) ? type : [type]) if (typeof name === 'string') found.add(name)
  if (found.size > 0) return found
  const given = only === undefined ? listIn(values) : [only]
  for (const value of given) found.add(typeOfValue(value))
  const target = typeof ref === 'string' ? referenced(ref, root) : undefined
  const branches = [target, ...['anyOf', 'oneOf', 'allOf'].flatMap((key) => listIn(schema[key]))]
  for (const branch of branches) for (const name of typesOf(branch, root, depth + 1)) found.add(name)
  return found
}

function typeText(schema: JsonValue, root: JsonObject): string {
  const values = isJsonObject(schema) ? schema['enum'] : undefined
  if (Array.isArray(values)) return cut(values.map((value) => JSON.stringify(value)).join(' | '))
  const types = [...typesOf(schema, root)]
  return types.length === 0 ? 'any' : types.join(' | ')
}

function typeOfValue(value: JsonValue): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The part of the schema that a local reference such as `#/$defs/Mode` names. */
function referenced(ref: string, root: JsonObject): JsonValue | undefined {
  const match = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref)
  const group = match ? root[match[1] ?? ''] : undefined
  return isJsonObject(group) ? group[match?.[2] ?? ''] : undefined
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

function short(value: JsonValue): string {
  return cut(JSON.stringify(value))
}

function cut(text: string): string {
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text
}
