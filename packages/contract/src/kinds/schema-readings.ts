import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { referencedSchema, typesOf } from '../schema-keywords.ts'
import type { ArgumentKind } from './argument-kind.ts'

/** What a schema says about the texts of an argument. */
export type TextFacts = {
  /** The kinds that the schema names by keywords `format`. */
  readonly kinds: ReadonlySet<ArgumentKind>
  /** True if the schema allows a text without naming its kind by a `format`. */
  readonly isPlain: boolean
  /** True if the text may be one of a list (`enum` or `const`), which must be spelled exactly as in the list. */
  readonly isListed: boolean
  /** True if a text without a kind has a `format` that stands for none of the kinds. */
  readonly hasOtherFormat: boolean
  /** True if the schema could not be read completely, because it is too large or a reference has an unknown target. */
  readonly isUnknown: boolean
}

/** For a schema that says nothing about texts. */
export const ANY_TEXT: TextFacts = facts({ isPlain: true })
const NO_TEXT: TextFacts = facts({})
const UNKNOWN: TextFacts = facts({ isPlain: true, isUnknown: true })

const FORMATS: ReadonlyMap<JsonValue | undefined, ArgumentKind> = new Map<JsonValue, ArgumentKind>([
  ['path', 'path'],
  ['file-path', 'path'],
  ['directory-path', 'path'],
  ['command', 'command'],
  ['uri', 'url'],
  ['url', 'url'],
  ['date', 'date'],
  ['date-time', 'date-time'],
  ['decimal', 'decimal'],
  ['uuid', 'uuid'],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((version) => [`uuid${version}`, 'uuid'] as const),
])

/** References that are not followed. */
const UNKNOWN_TARGET = ['$dynamicRef', '$recursiveRef'] as const

/** The most schemas that are read for all arguments of one tool. If there are more, the rest is unknown. */
const VISITS_MAX = 20_000

type Own = (schema: JsonObject) => TextFacts

/** Finds out from the schema of a tool's parameters what it says about the texts of each argument. */
export class SchemaReader {
  readonly #root: JsonObject
  readonly #names = new Set<string>()
  /** The schema to which each reference refers. They are kept, because the time to look up a reference grows with its length. */
  readonly #targets = new Map<JsonValue, JsonObject | undefined>()
  #visitsLeft = VISITS_MAX

  constructor(parameters: JsonObject) {
    this.#root = parameters
    this.#followed(parameters, (schema) => {
      const { properties } = schema
      if (isJsonObject(properties)) for (const name of Object.keys(properties)) this.#names.add(name)
      return ANY_TEXT
    })
  }

  /** All arguments that the schema names, even in parts that apply only under a condition. */
  get names(): ReadonlySet<string> {
    return this.#names
  }

  factsOf(name: string): TextFacts {
    if (this.#visitsLeft < 0) return UNKNOWN
    return this.#followed(this.#root, (schema) => this.#property(schema, name)) ?? ANY_TEXT
  }

  /** What the schema says about an argument that it does not name. */
  get factsOfOthers(): TextFacts {
    return this.#followed(this.#root, (schema) => this.#unnamed(schema)) ?? ANY_TEXT
  }

  /**
   * What a schema says, with all schemas that apply to the same value. Undefined if `inside` already contains the schema, because
   * it then adds nothing.
   */
  #followed(schema: JsonValue, own: Own, inside = new Set<JsonObject>()): TextFacts | undefined {
    if (schema === false) return NO_TEXT
    if (!isJsonObject(schema)) return ANY_TEXT
    if (inside.has(schema)) return undefined
    this.#visitsLeft -= 1
    if (this.#visitsLeft < 0) return UNKNOWN
    inside.add(schema)
    const parts = [own(schema), ...this.#applied(schema, (below) => this.#followed(below, own, inside))]
    inside.delete(schema)
    // If a schema is only a reference back to a schema that contains it, it adds nothing either.
    const isBack =
      parts.some((part) => part === undefined) &&
      parts.every((part) => part === undefined || saysNothing(part))
    return isBack ? undefined : allOf(parts)
  }

  /** What the schemas in a schema say, if they apply to the same value. */
  #applied(schema: JsonObject, follow: (below: JsonValue) => TextFacts | undefined) {
    const { $ref, allOf: all, if: condition, then = true, else: otherwise = true } = schema
    const found = listOf(all).map(follow)
    if ($ref !== undefined) {
      const target = this.#targetOf($ref)
      found.push(target ? follow(target) : UNKNOWN)
    }
    if (UNKNOWN_TARGET.some((keyword) => keyword in schema)) found.push(UNKNOWN)
    for (const keyword of ['anyOf', 'oneOf'] as const)
      if (isJsonArray(schema[keyword])) found.push(oneOf(schema[keyword].map(follow)))
    if (condition !== undefined) found.push(oneOf([follow(then), follow(otherwise)]))
    for (const keyword of ['dependentSchemas', 'dependencies'] as const)
      for (const below of membersOf(schema[keyword]))
        if (!isJsonArray(below)) found.push(oneOf([ANY_TEXT, follow(below)]))
    return found
  }

  #targetOf(reference: JsonValue): JsonObject | undefined {
    if (!this.#targets.has(reference)) this.#targets.set(reference, referencedSchema(this.#root, reference))
    return this.#targets.get(reference)
  }

  #property(schema: JsonObject, name: string): TextFacts {
    const { properties, patternProperties } = schema
    if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return this.#unnamed(schema)
    const own = this.#value(properties[name] ?? true)
    // The pattern may match the name or not. Patterns run only in the RE2 engine, which is not used here, so both cases are
    // possible.
    const patterns = membersOf(patternProperties).map((below) => oneOf([ANY_TEXT, this.#value(below)]))
    return allOf([own, ...patterns]) ?? ANY_TEXT
  }

  #unnamed({ patternProperties, additionalProperties = true }: JsonObject): TextFacts {
    const patterns = membersOf(patternProperties).map((below) => this.#value(below))
    return oneOf([this.#value(additionalProperties), ...patterns]) ?? ANY_TEXT
  }

  #value(schema: JsonValue): TextFacts {
    return this.#followed(schema, ofKeywords) ?? ANY_TEXT
  }
}

/** What the keywords of one schema say, without the schemas in it. */
function ofKeywords(schema: JsonObject): TextFacts {
  const types = typesOf(schema)
  if (types.length > 0 && !types.includes('string')) return NO_TEXT
  const { const: only, enum: some } = schema
  const listed = only === undefined ? some : [only]
  if (isJsonArray(listed) && !listed.some((value) => typeof value === 'string')) return NO_TEXT
  const kind = FORMATS.get(schema['format'])
  const kinds = new Set(kind === undefined ? [] : [kind])
  return facts({
    kinds,
    isPlain: kinds.size === 0 && !isJsonArray(listed),
    isListed: isJsonArray(listed),
    hasOtherFormat: kind === undefined && schema['format'] !== undefined,
  })
}

/** What is known about a text to which all of these parts apply. */
function allOf(parts: readonly (TextFacts | undefined)[]): TextFacts | undefined {
  const known = parts.filter((part) => part !== undefined)
  if (known.some(isNoText)) return NO_TEXT
  return joined(
    known,
    known.every(({ isPlain }) => isPlain),
  )
}

/** What is known about a text to which one of these parts applies. */
function oneOf(parts: readonly (TextFacts | undefined)[]): TextFacts | undefined {
  const known = parts.filter((part) => part !== undefined)
  return joined(
    known,
    known.some(({ isPlain }) => isPlain),
  )
}

function joined(parts: readonly TextFacts[], isPlain: boolean): TextFacts | undefined {
  if (parts.length === 0) return undefined
  return {
    kinds: new Set(parts.flatMap(({ kinds }) => [...kinds])),
    isPlain,
    isListed: parts.some(({ isListed }) => isListed),
    hasOtherFormat: parts.some(({ hasOtherFormat }) => hasOtherFormat),
    isUnknown: parts.some(({ isUnknown }) => isUnknown),
  }
}

function facts(given: Partial<TextFacts>): TextFacts {
  return {
    kinds: new Set(),
    isPlain: false,
    isListed: false,
    hasOtherFormat: false,
    isUnknown: false,
    ...given,
  }
}

function saysNothing({ kinds, isPlain, isListed, hasOtherFormat, isUnknown }: TextFacts): boolean {
  return isPlain && kinds.size === 0 && !isListed && !hasOtherFormat && !isUnknown
}

function isNoText({ kinds, isPlain, isListed }: TextFacts): boolean {
  return kinds.size === 0 && !isPlain && !isListed
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : []
}

function membersOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonObject(value) ? Object.values(value) : []
}
