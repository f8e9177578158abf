import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { mapSubschemas } from '../schema-keywords.ts'
import type { SchemaPath } from '../schema-keywords.ts'
import { admitsNull } from './admits-null.ts'
import { isAnnotation } from './annotations.ts'
import { inWords } from './in-words.ts'
import { orNull } from './or-null.ts'
import { PORTABLE_PATTERN, STRICT_FORMATS, STRICT_KEYWORDS, STRICT_LIMITS } from './strict-subset.ts'
import { typesOf } from './types-of.ts'
import { Unfit } from './unfit.ts'

const { levelsMax, propertiesMax, charactersMax, enumValuesMax, longEnum } = STRICT_LIMITS

/**
 * The schema as strict mode wants it: every object closed, every property required, what may be left out also null, and
 * defaults in the description. The same object where it is so already. Throws `Unfit` where that would change what the
 * tool takes. `root` has its type and properties, and no references.
 */
export function strictParameters(root: JsonObject): JsonObject {
  let enumValues = 0
  let properties = 0

  function strict(schema: JsonObject, path: SchemaPath, level: number): JsonObject {
    const unknown = Object.keys(schema).find(
      (keyword) => !STRICT_KEYWORDS.has(keyword) && !isAnnotation(keyword),
    )
    if (unknown !== undefined)
      throw new Unfit([...path, unknown], `${unknown} is no keyword of strict schemas`)
    if (level > levelsMax) throw new Unfit(path, `the schema is deeper than ${levelsMax} levels`)
    checkKind(schema, path)
    checkText(schema, path)
    countEnum(schema, path)
    const isObject = typesOf(schema).includes('object')
    if (isObject) checkObject(schema, path)
    const below = mapSubschemas(schema, (child, [keyword = '', ...at]) => {
      if (!isJsonObject(child)) return child
      const made = strict(child, [...path, keyword, ...at], level + 1)
      const mayBeLeftOut = keyword === 'properties' && !isRequired(schema, String(at[0]))
      return mayBeLeftOut && !admitsNull(child, root) ? orNull(made) : made
    })
    return inWords(isObject ? closed(below) : below)
  }

  function checkObject(schema: JsonObject, path: SchemaPath): void {
    const names = declaredBy(schema)
    const { required = [], additionalProperties } = schema
    properties += names.length
    if (properties > propertiesMax)
      throw new Unfit(path, `the schema has more than ${propertiesMax} parameters`)
    if (additionalProperties !== undefined && additionalProperties !== false)
      throw new Unfit([...path, 'additionalProperties'], 'the object takes what is not declared')
    if (names.length === 0 && path.length > 0 && additionalProperties !== false)
      throw new Unfit(path, 'the object declares nothing, so it takes anything')
    const needed = required as readonly string[]
    const undeclared = needed.findIndex((name) => !names.includes(name))
    if (undeclared !== -1)
      throw new Unfit([...path, 'required', undeclared], 'a required parameter is not declared')
    if (needed.length < names.length && isAlternative(path))
      throw new Unfit(path, 'an alternative has optional parameters')
  }

  function countEnum({ enum: values }: JsonObject, path: SchemaPath): void {
    if (!Array.isArray(values)) return
    enumValues += values.length
    const isLong = values.length > longEnum.values && JSON.stringify(values).length > longEnum.characters
    if (enumValues > enumValuesMax || isLong)
      throw new Unfit([...path, 'enum'], 'the enum has too many values')
  }

  if (JSON.stringify(root).length > charactersMax)
    throw new Unfit([], `the schema has more than ${charactersMax} characters`)
  return strict(root, [], 1)
}

/** An object that takes what it declares and nothing else, all of it required. */
function closed(schema: JsonObject): JsonObject {
  const names = declaredBy(schema)
  const { required } = schema
  const isFilled = Array.isArray(required) && required.length === names.length
  if (isFilled && schema['additionalProperties'] === false) return schema
  return { ...schema, required: isFilled ? required : names, additionalProperties: false }
}

function declaredBy({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
}

/** Strict mode wants to know what a value is. */
function checkKind(schema: JsonObject, path: SchemaPath): void {
  const { type, anyOf, items, ...rest } = schema
  const isAlone = type === undefined && Object.keys(rest).every(isAnnotation)
  if (anyOf !== undefined && !isAlone)
    throw new Unfit([...path, 'anyOf'], 'anyOf stands beside other keywords')
  if (anyOf === undefined && type === undefined) throw new Unfit(path, 'the schema has no type')
  if (typesOf(schema).includes('array') && !isJsonObject(items))
    throw new Unfit(path, 'the array says nothing of its items')
}

function checkText({ pattern, format }: JsonObject, path: SchemaPath): void {
  if (typeof pattern === 'string' && !PORTABLE_PATTERN.test(pattern))
    throw new Unfit([...path, 'pattern'], 'the pattern looks around, refers back, or sets flags')
  if (typeof format === 'string' && !STRICT_FORMATS.has(format))
    throw new Unfit([...path, 'format'], 'the format is not one of strict schemas')
}

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
