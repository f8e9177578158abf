import {
  isJsonObject,
  parsedJson,
  referencedSchema,
  valueAt,
  type JsonObject,
  type JsonValue,
} from '@toolrack/contract'
import { SENSITIVE } from './sensitive-keyword.ts'

/** Tells which parts of a value its schema marks as sensitive. */
export type Sensitivity = {
  readonly isMarked: boolean
  readonly property: (name: string) => Sensitivity
  readonly item: (index: number) => Sensitivity
}

export const NOT_SENSITIVE: Sensitivity = {
  isMarked: false,
  property: () => NOT_SENSITIVE,
  item: () => NOT_SENSITIVE,
}

export function isSensitive({ isMarked }: Sensitivity): boolean {
  return isMarked
}

/** Matches a text that every definition with a mark contains. */
const MAY_MARK = /x-sensitive|writeOnly|password/

/** Keywords whose schemas apply to the same value as the schema that has the keyword. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'then', 'else', 'if', 'not'] as const

/** Keywords that contain schemas for the same value under a condition. Members of `dependencies` may also be lists of names. */
const CONDITIONAL = ['dependentSchemas', 'dependencies'] as const

/** Keywords whose schemas mark something that cannot be removed by itself: the names of members, or JSON in a text. */
const OF_A_PART = ['propertyNames', 'contentSchema'] as const

/** References that are not followed. A schema with one of them may mark anything. */
const UNKNOWN_TARGET = ['$dynamicRef', '$recursiveRef'] as const

/** The most schemas that are read for one value. If there are more, the value counts as sensitive. */
const SCHEMAS_MAX = 1_000

/**
 * The most schemas that are read for all values in one redaction. For members with the same schemas, these are read only once.
 */
const READS_MAX = 10_000

const MARKED: Sensitivity = { isMarked: true, property: () => MARKED, item: () => MARKED }

/**
 * True for a schema with `x-sensitive: true`, or with the mark of a secret from pydantic or OpenAPI. An `x-sensitive` that is not
 * a boolean counts as true. Only a definition from an older version can have one, because such values are refused now.
 */
function isMarked({ [SENSITIVE]: mark, format, writeOnly }: JsonObject): boolean {
  if (mark !== undefined) return mark !== false
  return format === 'password' || writeOnly === true
}

/** True if the value contains a marked schema, however deep. */
function holdsMark(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (isJsonObject(value) && isMarked(value)) || Object.values(value).some(holdsMark)
}

/** The marks in the text of a definition. */
export function sensitivityOf(definitionText: string): Sensitivity {
  const marked = markedParameters(definitionText)
  return marked ? new Reader(marked).root : NOT_SENSITIVE
}

/** The schema of the parameters. Undefined if nothing in it is marked. */
function markedParameters(definitionText: string): JsonObject | undefined {
  if (!MAY_MARK.test(definitionText)) return undefined
  const definition = parsedJson(definitionText)
  const parameters = isJsonObject(definition)
    ? (valueAt(definition, ['function', 'parameters']) ?? valueAt(definition, ['parameters']))
    : undefined
  return isJsonObject(parameters) && holdsMark(parameters) ? parameters : undefined
}

/** Reads the marks of a schema for one redaction. */
class Reader {
  readonly #root: JsonObject
  #readsLeft = READS_MAX

  constructor(root: JsonObject) {
    this.#root = root
  }

  get root(): Sensitivity {
    return this.#ofSchemas([this.#root])
  }

  /**
   * The marks of a value to which some of these schemas apply. It is not known which of them apply, so the value is marked if any
   * of them marks it.
   */
  #ofSchemas(schemas: readonly JsonValue[]): Sensitivity {
    const applied = new Set<JsonObject>()
    const waiting = [...schemas]
    for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
      this.#readsLeft -= 1
      if (this.#readsLeft < 0) return MARKED
      if (!isJsonObject(schema) || applied.has(schema)) continue
      if (applied.size >= SCHEMAS_MAX || isMarked(schema)) return MARKED
      applied.add(schema)
      const { $ref } = schema
      if ($ref !== undefined) {
        const target = referencedSchema(this.#root, $ref)
        if (!target) return MARKED
        waiting.push(target)
      }
      if (UNKNOWN_TARGET.some((keyword) => keyword in schema)) return MARKED
      if (OF_A_PART.some((keyword) => holdsMark(schema[keyword]))) return MARKED
      for (const keyword of SAME_VALUE) waiting.push(...listOf(schema[keyword]))
      for (const keyword of CONDITIONAL) waiting.push(...membersOf(schema[keyword]))
    }
    if (applied.size === 0) return NOT_SENSITIVE
    const found = [...applied]
    const names = new Set(
      found.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : [])),
    )
    const places = Math.max(...found.map(({ prefixItems }) => listOf(prefixItems).length))
    return {
      isMarked: false,
      property: this.#readOnce(
        (name: string) => (names.has(name) ? name : undefined),
        (name) => found.flatMap((schema) => ofProperty(schema, name)),
      ),
      item: this.#readOnce(
        (index: number) => (index < places ? index : undefined),
        (index) => found.flatMap((schema) => ofItem(schema, index)),
      ),
    }
  }

  /**
   * Returns a function that finds the marks of a member. If `keyOf` returns the same for two members, they have the same schemas,
   * which are read only once.
   */
  #readOnce<Member>(
    keyOf: (member: Member) => Member | undefined,
    schemasOf: (member: Member) => readonly JsonValue[],
  ): (member: Member) => Sensitivity {
    const known = new Map<Member | undefined, Sensitivity>()
    return (member) => {
      const key = keyOf(member)
      const found = known.get(key) ?? this.#ofSchemas(schemasOf(member))
      known.set(key, found)
      return found
    }
  }
}

function ofProperty(schema: JsonObject, name: string) {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
  const named = isJsonObject(properties) && Object.hasOwn(properties, name) ? listOf(properties[name]) : []
  const patterns = membersOf(patternProperties)
  // The schemas of all patterns are used, whether a pattern matches the name or not. Patterns run only in the RE2 engine, which
  // is not used here.
  const others = [...listOf(additionalProperties), ...listOf(unevaluatedProperties)]
  return [...named, ...patterns, ...(named.length > 0 ? [] : others)]
}

function ofItem(schema: JsonObject, index: number): readonly JsonValue[] {
  const { items, prefixItems, contains, additionalItems, unevaluatedItems } = schema
  const prefix = Array.isArray(prefixItems) ? (prefixItems as readonly JsonValue[])[index] : undefined
  const others = [...listOf(additionalItems), ...listOf(unevaluatedItems)]
  return [...listOf(prefix), ...listOf(items), ...listOf(contains), ...others]
}

function membersOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonObject(value) ? Object.values(value) : []
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined) return []
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value]
}

/** A stored definition. `text` is its JSON. */
type Stored = { readonly text: string }

/**
 * For each definition, the schema of its parameters if something in it is marked. An entry is freed when its definition is no
 * longer in the catalog.
 */
const MARKED_PARAMETERS = new WeakMap<Stored, JsonObject | null>()

/** The marks in the schema of a definition, for one redaction. */
export function marksOf(stored: Stored): Sensitivity {
  let marked = MARKED_PARAMETERS.get(stored)
  if (marked === undefined) MARKED_PARAMETERS.set(stored, (marked = markedParameters(stored.text) ?? null))
  return marked ? new Reader(marked).root : NOT_SENSITIVE
}
