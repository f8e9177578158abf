import { isJsonArray, isJsonObject, type JsonObject } from '../json.ts'
import { isAnnotation, mapSubschemas, SchemaError, typesOf, type SchemaPath } from '../schema-keywords.ts'
import { allowsNull, withNull } from './null-arguments.ts'

/**
 * The keywords that a strict schema may have: those that OpenAI documents, and those that OpenAI's SDK accepts. The formats and
 * limits below are documented by OpenAI too. If a schema has anything else, the API may refuse the whole request.
 */
const KEYWORDS = new Set(
  [
    ['type', 'enum', 'const', 'anyOf', 'title', 'description'],
    ['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems'],
    ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    ['minLength', 'maxLength', 'pattern', 'format'],
  ].flat(),
)
const FORMAT = /^(?:date|date-time|time|duration|email|hostname|ipv4|ipv6|uuid)$/
/** Matches patterns without look-around, named groups, flags and back references. */
const PATTERN = /^(?!.*(?:\(\?(?!:)|\\[1-9]))/s
/** The most levels of a schema, as OpenAI documents it. The root is level 1. */
const LEVELS_MAX = 10
/** The largest number of properties in all objects together, as OpenAI documents it. */
const PROPERTIES_MAX = 5_000
/** The most characters of the whole schema as JSON. OpenAI's own limit counts only some of these characters. */
const CHARACTERS_MAX = 120_000
/** The largest number of values in all enums together, as OpenAI documents it. */
const ENUM_VALUES_MAX = 1_000
/** If an enum has more than 250 values, they may have at most 15,000 characters together. */
const LONG_ENUM = { values: 250, characters: 15_000 }

/** Annotations that are moved into the description, because strict schemas do not have these keywords. */
const DESCRIBED = { default: 'Default', examples: 'Examples' }
/** Annotations that are removed, because a model does not need them. */
const DROPPED = new Set(['$comment', 'deprecated', 'readOnly', 'writeOnly'])

/**
 * Converts a schema to the form that strict mode requires:
 *
 * - Every object allows only declared properties, and requires all of them.
 * - A property that was optional also allows null.
 * - Defaults and examples are in the description.
 *
 * Returns the same object if it already has that form. Throws SchemaError if strict mode does not allow the schema, or if
 * the conversion would change which arguments the tool accepts. `root` must have a type and properties, and no references.
 */
export function strictSchema(root: JsonObject): JsonObject {
  let enumValues = 0
  let properties = 0

  function strict(schema: JsonObject, path: SchemaPath, level: number, isAlternative: boolean): JsonObject {
    requireKeywords(schema, path)
    refuseIf(level > LEVELS_MAX, path, `the schema is deeper than ${LEVELS_MAX} levels`)
    requireType(schema, path)
    requirePatternAndFormat(schema, path)
    countEnumValues(schema, path)
    const isObject = typesOf(schema).includes('object')
    if (isObject) requireClosable(schema, path, isAlternative)
    const below = mapSubschemas(schema, (child, [keyword = '', ...at]) => {
      if (!isJsonObject(child)) return child
      const made = strict(child, [...path, keyword, ...at], level + 1, isAlternative || keyword === 'anyOf')
      const isOptional = keyword === 'properties' && !isRequired(schema, String(at[0]))
      return isOptional && !allowsNull(child, root) ? withNull(made) : made
    })
    return describedInWords(isObject ? closed(below) : below)
  }

  function requireClosable(schema: JsonObject, path: SchemaPath, isAlternative: boolean): void {
    const names = propertyNames(schema)
    const { required = [], additionalProperties = false } = schema
    const needed = required as readonly string[]
    const undeclared = needed.findIndex((name) => !names.includes(name))
    const isEmpty = names.length === 0 && path.length > 0 && schema['additionalProperties'] === undefined
    properties += names.length
    refuseIf(properties > PROPERTIES_MAX, path, `the schema has more than ${PROPERTIES_MAX} parameters`)
    refuseIf(
      additionalProperties !== false,
      [...path, 'additionalProperties'],
      'the object takes parameters that are not declared',
    )
    refuseIf(isEmpty, path, 'the object declares nothing, so it takes anything')
    refuseIf(undeclared !== -1, [...path, 'required', undeclared], 'a required parameter is not declared')
    const hasOptional = needed.length < names.length
    refuseIf(hasOptional && isAlternative, path, 'an alternative has optional parameters')
  }

  function countEnumValues({ enum: values }: JsonObject, path: SchemaPath): void {
    if (!isJsonArray(values)) return
    enumValues += values.length
    const isLong = values.length > LONG_ENUM.values && JSON.stringify(values).length > LONG_ENUM.characters
    refuseIf(enumValues > ENUM_VALUES_MAX || isLong, [...path, 'enum'], 'the enum has too many values')
  }

  const isTooLong = JSON.stringify(root).length > CHARACTERS_MAX
  refuseIf(isTooLong, [], `the schema has more than ${CHARACTERS_MAX} characters`)
  return strict(root, [], 1, false)
}

function refuseIf(isFault: boolean, path: SchemaPath, message: string): void {
  if (isFault) throw new SchemaError(path, message)
}

function requireKeywords(schema: JsonObject, path: SchemaPath): void {
  for (const keyword of Object.keys(schema)) {
    const isKnown = KEYWORDS.has(keyword) || isAnnotation(keyword)
    refuseIf(!isKnown, [...path, keyword], `strict schemas have no keyword ${keyword}`)
  }
}

function requirePatternAndFormat({ pattern, format }: JsonObject, path: SchemaPath): void {
  const isPortable = typeof pattern !== 'string' || PATTERN.test(pattern)
  const why = 'the pattern has look-around, a named group, a back reference, or flags'
  refuseIf(!isPortable, [...path, 'pattern'], why)
  const isKnown = typeof format !== 'string' || FORMAT.test(format)
  refuseIf(!isKnown, [...path, 'format'], 'strict schemas have no such format')
}

/** Throws SchemaError if a value has no type. Strict mode needs a type for each value. */
function requireType(schema: JsonObject, path: SchemaPath): void {
  const { type, anyOf, items, ...rest } = schema
  const isAlone = type === undefined && Object.keys(rest).every(isAnnotation)
  refuseIf(anyOf !== undefined && !isAlone, [...path, 'anyOf'], 'anyOf stands beside other keywords')
  refuseIf(anyOf === undefined && type === undefined, path, 'the schema has no type')
  const needsItems = typesOf(schema).includes('array') && !isJsonObject(items)
  refuseIf(needsItems, path, 'the array says nothing about its items')
}

/** Makes an object schema require each of its properties and allow no other property. */
function closed(schema: JsonObject): JsonObject {
  const names = propertyNames(schema)
  const { required, additionalProperties } = schema
  const isComplete = isJsonArray(required) && required.length === names.length
  if (isComplete && additionalProperties === false) return schema
  return { ...schema, required: isComplete ? required : names, additionalProperties: false }
}

function propertyNames({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return isJsonArray(required) && required.includes(name)
}

/** Removes the annotations that a strict schema may not have. A default and examples are moved into the description. */
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
