import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { isAnnotation, mapSubschemas, SchemaFaultError, typesOf } from '../schema-keywords.ts'
import type { SchemaPath } from '../schema-keywords.ts'
import { allowsNull, withNull } from './null-arguments.ts'

/**
 * The keywords, formats and limits that OpenAI documents for strict schemas, and the keywords that its SDK lets through.
 * For any other the API may refuse the whole request.
 */
const KEYWORDS = new Set(
  [
    ['type', 'enum', 'const', 'anyOf', 'title', 'description'],
    ['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems'],
    ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    ['minLength', 'maxLength', 'pattern', 'format'],
  ].flat(),
)
const FORMATS = new Set([
  'date',
  'date-time',
  'time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
])
/** Patterns without look-around, named groups, flags and back references. */
const PATTERN = /^(?!.*(?:\(\?(?!:)|\\[1-9]))/s
/** Levels of nested schemas. The root is level 1. */
const LEVELS_MAX = 10
/** Properties of all objects together. */
const PROPERTIES_MAX = 5_000
/** Characters of the whole schema as JSON. OpenAI counts only some of them. */
const CHARACTERS_MAX = 120_000
/** Values of all enums together. */
const ENUM_VALUES_MAX = 1_000
/** An enum of more than 250 values may have so many characters. */
const LONG_ENUM = { values: 250, characters: 15_000 }

/** Annotations that become part of the description, because strict schemas have no keyword for them. */
const DESCRIBED = { default: 'Default', examples: 'Examples' }
/** Annotations that tell a model nothing. */
const DROPPED = new Set(['$comment', 'deprecated', 'readOnly', 'writeOnly'])

/**
 * The schema as strict mode wants it: every object is closed, every property is required, an optional property also
 * allows null, and defaults are in the description. The same object if it is so already. Throws SchemaFaultError if that
 * would change which arguments the tool takes. `root` must have a type and properties, and no references.
 */
export function strictSchema(root: JsonObject): JsonObject {
  let enumValues = 0
  let properties = 0

  function strict(schema: JsonObject, path: SchemaPath, level: number): JsonObject {
    requireKeywords(schema, path)
    if (level > LEVELS_MAX) throw new SchemaFaultError(path, `the schema is deeper than ${LEVELS_MAX} levels`)
    requireType(schema, path)
    requirePatternAndFormat(schema, path)
    countEnumValues(schema, path)
    const isObject = typesOf(schema).includes('object')
    if (isObject) requireClosable(schema, path)
    const below = mapSubschemas(schema, (child, [keyword = '', ...at]) => {
      if (!isJsonObject(child)) return child
      const made = strict(child, [...path, keyword, ...at], level + 1)
      const isOptional = keyword === 'properties' && !isRequired(schema, String(at[0]))
      return isOptional && !allowsNull(child, root) ? withNull(made) : made
    })
    return describedInWords(isObject ? closed(below) : below)
  }

  function requireClosable(schema: JsonObject, path: SchemaPath): void {
    const names = propertyNames(schema)
    const { required = [], additionalProperties } = schema
    properties += names.length
    if (properties > PROPERTIES_MAX)
      throw new SchemaFaultError(path, `the schema has more than ${PROPERTIES_MAX} parameters`)
    if (additionalProperties !== undefined && additionalProperties !== false)
      throw new SchemaFaultError(
        [...path, 'additionalProperties'],
        'the object takes parameters that are not declared',
      )
    if (names.length === 0 && path.length > 0 && additionalProperties !== false)
      throw new SchemaFaultError(path, 'the object declares nothing, so it takes anything')
    const needed = required as readonly string[]
    const undeclared = needed.findIndex((name) => !names.includes(name))
    if (undeclared !== -1)
      throw new SchemaFaultError([...path, 'required', undeclared], 'a required parameter is not declared')
    if (needed.length < names.length && isAlternative(path))
      throw new SchemaFaultError(path, 'an alternative has optional parameters')
  }

  function countEnumValues({ enum: values }: JsonObject, path: SchemaPath): void {
    if (!Array.isArray(values)) return
    enumValues += values.length
    const isLong = values.length > LONG_ENUM.values && JSON.stringify(values).length > LONG_ENUM.characters
    if (enumValues > ENUM_VALUES_MAX || isLong)
      throw new SchemaFaultError([...path, 'enum'], 'the enum has too many values')
  }

  if (JSON.stringify(root).length > CHARACTERS_MAX)
    throw new SchemaFaultError([], `the schema has more than ${CHARACTERS_MAX} characters`)
  return strict(root, [], 1)
}

function requireKeywords(schema: JsonObject, path: SchemaPath): void {
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword) && !isAnnotation(keyword))
  if (unknown !== undefined)
    throw new SchemaFaultError([...path, unknown], `strict schemas have no keyword ${unknown}`)
}

function requirePatternAndFormat({ pattern, format }: JsonObject, path: SchemaPath): void {
  if (typeof pattern === 'string' && !PATTERN.test(pattern))
    throw new SchemaFaultError(
      [...path, 'pattern'],
      'the pattern has look-around, a named group, a back reference, or flags',
    )
  if (typeof format === 'string' && !FORMATS.has(format))
    throw new SchemaFaultError([...path, 'format'], 'strict schemas have no such format')
}

/** Strict mode needs a type for each value. */
function requireType(schema: JsonObject, path: SchemaPath): void {
  const { type, anyOf, items, ...rest } = schema
  const isAlone = type === undefined && Object.keys(rest).every(isAnnotation)
  if (anyOf !== undefined && !isAlone)
    throw new SchemaFaultError([...path, 'anyOf'], 'anyOf stands beside other keywords')
  if (anyOf === undefined && type === undefined) throw new SchemaFaultError(path, 'the schema has no type')
  if (typesOf(schema).includes('array') && !isJsonObject(items))
    throw new SchemaFaultError(path, 'the array says nothing about its items')
}

/** The object schema with every property required and no other property allowed. */
function closed(schema: JsonObject): JsonObject {
  const names = propertyNames(schema)
  const { required, additionalProperties } = schema
  const isComplete = Array.isArray(required) && required.length === names.length
  if (isComplete && additionalProperties === false) return schema
  return { ...schema, required: isComplete ? required : names, additionalProperties: false }
}

function propertyNames({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
}

/** True for a schema somewhere below `anyOf`. The names of properties in the path are not keywords. */
function isAlternative(path: SchemaPath): boolean {
  let index = 0
  while (index < path.length) {
    const keyword = path[index]
    if (keyword === 'anyOf') return true
    index += keyword === 'items' ? 1 : 2
  }
  return false
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && (required as readonly JsonValue[]).includes(name)
}

/** The schema without annotations that strict schemas have no keyword for. The description tells a default and examples. */
function describedInWords(schema: JsonObject): JsonObject {
  const words = Object.entries(DESCRIBED).flatMap(([keyword, word]) =>
    schema[keyword] === undefined ? [] : [`${word}: ${JSON.stringify(schema[keyword])}.`],
  )
  const kept = Object.entries(schema).filter(
    ([keyword]) => !Object.hasOwn(DESCRIBED, keyword) && !DROPPED.has(keyword),
  )
  if (kept.length === Object.keys(schema).length) return schema
  const { description } = schema
  const sentences = typeof description === 'string' && description !== '' ? [description, ...words] : words
  return { ...Object.fromEntries(kept), ...(sentences.length > 0 && { description: sentences.join(' ') }) }
}
