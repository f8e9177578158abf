import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'

/** The most references and alternatives that are followed to find a type. A reference can lead back to itself. */
const TYPE_DEPTH_MAX = 8

/** The most characters of a default or of a list of values, so that all parameters fit into a line. */
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

/** The types that a schema allows, such as `integer` and `null`. Empty if the schema names no type, or is nested too deeply. */
export function typesOf(schema: JsonValue | undefined, root: JsonObject, depth = 0): ReadonlySet<string> {
  const found = new Set<string>()
  if (!isJsonObject(schema) || depth > TYPE_DEPTH_MAX) return found
  const { type, enum: values, const: only } = schema
  for (const name of Array.isArray(type) ? type : [type]) if (typeof name === 'string') found.add(name)
  if (found.size > 0) return found
  const given = only === undefined ? listIn(values) : [only]
  for (const value of given) found.add(typeOfValue(value))
  for (const branch of branchesOf(schema, root))
    for (const name of typesOf(branch, root, depth + 1)) found.add(name)
  return found
}

/** True if the schema only allows texts that are bytes in base64. The handler gets such an argument as `bytes`. */
export function isBase64(schema: JsonValue | undefined, root: JsonObject): boolean {
  const found = encodingsOf(schema, root, 0)
  return found.size === 1 && found.has('base64')
}

/** The encodings of the texts that the schema allows. `none` stands for plain text. */
function encodingsOf(schema: JsonValue | undefined, root: JsonObject, depth: number): ReadonlySet<string> {
  if (!isJsonObject(schema) || depth > TYPE_DEPTH_MAX) return new Set()
  const { type, contentEncoding } = schema
  if ([type].flat().includes('string'))
    return new Set([typeof contentEncoding === 'string' ? contentEncoding : 'none'])
  if (type !== undefined) return new Set()
  return new Set(branchesOf(schema, root).flatMap((branch) => [...encodingsOf(branch, root, depth + 1)]))
}

/** The schema that this schema refers to, and the alternatives that it lists. */
function branchesOf(schema: JsonObject, root: JsonObject): readonly (JsonValue | undefined)[] {
  const { $ref: ref } = schema
  const target = typeof ref === 'string' ? referenced(ref, root) : undefined
  return [target, ...['anyOf', 'oneOf', 'allOf'].flatMap((key) => listIn(schema[key]))]
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
