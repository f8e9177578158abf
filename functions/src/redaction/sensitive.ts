import {
  isJsonObject,
  parsedJson,
  referencedSchema,
  valueAt,
  type JsonObject,
  type JsonValue,
} from '@toolrack/contract'
import { SENSITIVE } from './sensitive-keyword.ts'

/** Which parts of a value its schema marks as sensitive. */
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

/** A definition without these texts marks nothing. */
const MAY_MARK = /x-sensitive|writeOnly|password/

/** Keywords whose schemas apply to the same value. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'then', 'else', 'if', 'not'] as const

/** Keywords of which each member applies to the same value under a condition. Members of `dependencies` may be lists of names. */
const CONDITIONAL = ['dependentSchemas', 'dependencies'] as const

/** Keywords that mark a part of a value which cannot be removed alone: the names of its members, and JSON in a text. */
const OF_A_PART = ['propertyNames', 'contentSchema'] as const

/** References that are not followed. With one of them it is not known what a schema marks. */
const UNKNOWN_TARGET = ['$dynamicRef', '$recursiveRef'] as const

/** The most schemas that are looked at for one value. If there are more, every value is taken as sensitive. */
const SCHEMAS_MAX = 1_000

/** The same for all values of one redaction together. Members of which the schema says the same are looked at once. */
const READS_MAX = 10_000

const MARKED: Sensitivity = { isMarked: true, property: () => MARKED, item: () => MARKED }

/**
 * True for a schema with `x-sensitive: true`, and for a secret as pydantic and OpenAPI write it. A mark that is no boolean may be
 * meant as true. It can only be in a definition that was stored before such marks were refused.
 */
function isMarked({ [SENSITIVE]: mark, format, writeOnly }: JsonObject): boolean {
  if (mark !== undefined) return mark !== false
  return format === 'password' || writeOnly === true
}

/** True if the value has a marked schema anywhere. */
function holdsMark(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (isJsonObject(value) && isMarked(value)) || Object.values(value).some(holdsMark)
}

/** What the text of a definition marks as sensitive. */
export function sensitivityOf(definitionText: string): Sensitivity {
  const marked = markedParameters(definitionText)
  return marked ? new Reader(marked).root : NOT_SENSITIVE
}

/** The schema of the parameters, if it marks anything. */
function markedParameters(definitionText: string): JsonObject | undefined {
  if (!MAY_MARK.test(definitionText)) return undefined
  const definition = parsedJson(definitionText)
  const parameters = isJsonObject(definition)
    ? (valueAt(definition, ['function', 'parameters']) ?? valueAt(definition, ['parameters']))
    : undefined
  return isJsonObject(parameters) && holdsMark(parameters) ? parameters : undefined
}

/** Looks at a schema for one redaction. */
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
   * The marks of a value to which each of these schemas may apply. One schema that marks it is enough, because it is not known
   * which of them applies.
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

  /** `keyOf` is the same for members of which the schemas say the same. */
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
  // Which pattern a name matches is not computed here: patterns run on another engine.
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

/** A stored definition: its JSON. */
type Stored = { readonly text: string }

/** The schemas that mark anything. A definition that is no longer in the catalog takes its entry along. */
const MARKED_PARAMETERS = new WeakMap<Stored, JsonObject | null>()

/** What the schema of a definition marks, for one redaction. */
export function marksOf(stored: Stored): Sensitivity {
  let marked = MARKED_PARAMETERS.get(stored)
  if (marked === undefined) MARKED_PARAMETERS.set(stored, (marked = markedParameters(stored.text) ?? null))
  return marked ? new Reader(marked).root : NOT_SENSITIVE
}
