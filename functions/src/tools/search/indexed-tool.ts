import { isJsonObject, subschemas, type JsonObject, type JsonValue } from '@toolrack/contract'
import { definitionOf, type CatalogEntry } from '../catalog/catalog-entry.ts'
import { isTelling, splitWords, termsOf } from './words.ts'

/** What the index keeps of one tool. */
export type IndexedTool = {
  /** For each term the weight of its occurrences, and whether the description has it. */
  readonly terms: ReadonlyMap<string, { readonly weight: number; readonly isInDescription: boolean }>
  /** How many different terms the description has. */
  readonly descriptionTerms: number
  /** Hashes of the pairs of neighbouring words in the description. */
  readonly phrases: readonly number[]
  /** How many arguments are required. */
  readonly required: number
  /** How many required arguments are numbers. */
  readonly requiredNumbers: number
  /** True if the name of a required argument says that it is a date. */
  readonly requiresDate: boolean
}

/**
 * The fields of a tool. `weight` is the weight of one occurrence. In a field that is `pivot` words long, an occurrence has just
 * this weight; `damping` says how much it loses in a longer field. The figures were chosen on one half of real requests
 * (docs/decisions/0034-search.md).
 */
const FIELDS = {
  name: { weight: 0.6, damping: 0.8, pivot: 3 },
  description: { weight: 0.8, damping: 0.5, pivot: 8 },
  arguments: { weight: 0.8, damping: 0.8, pivot: 5 },
  argumentTexts: { weight: 0.5, damping: 0, pivot: 1 },
  values: { weight: 0.5, damping: 0, pivot: 1 },
  labels: { weight: 0.8, damping: 0, pivot: 1 },
} as const
type Field = keyof typeof FIELDS

/** UTF-16 code units of each field that are read. Nearly all fields are shorter. */
const FIELD_LENGTH_MAX = 10_000
const PHRASES_MAX = 64
/** How deep arguments within arguments are read. */
const DEPTH_MAX = 6

/** Reads the definition of a tool for the index. */
export function indexedTool(entry: CatalogEntry): IndexedTool {
  const { description, parameters } = definitionOf(entry).function
  const read = { arguments: '', argumentTexts: '', values: '' }
  readArguments(parameters, read, 0)
  const labels = [entry.category ?? '', ...entry.tags].join(' ')
  const texts = { name: entry.name, description, ...read, labels }
  const terms = new Map<string, { weight: number; isInDescription: boolean }>()
  for (const field of Object.keys(FIELDS) as Field[]) addField(terms, field, texts[field])
  return {
    terms,
    descriptionTerms: [...terms.values()].filter(({ isInDescription }) => isInDescription).length,
    phrases: phrasesIn(splitWords(description.slice(0, FIELD_LENGTH_MAX))).slice(0, PHRASES_MAX),
    ...ofRequired(parameters),
  }
}

/** Hashes of the pairs of neighbouring words. */
export function phrasesIn(words: readonly string[]): readonly number[] {
  return [...new Set(words.slice(1).map((word, index) => hashOf(`${words[index]} ${word}`)))]
}

function addField(
  terms: Map<string, { weight: number; isInDescription: boolean }>,
  field: Field,
  text: string,
): void {
  const { weight, damping, pivot } = FIELDS[field]
  const words = splitWords(text.slice(0, FIELD_LENGTH_MAX))
  // A name such as `who_is` has no other words, so names keep words that tell little.
  const found = termsOf(field === 'name' ? words : words.filter(isTelling))
  const each = weight / (1 - damping + (damping * found.length) / pivot)
  for (const term of found) {
    const known = terms.get(term) ?? { weight: 0, isInDescription: false }
    terms.set(term, {
      weight: known.weight + each,
      isInDescription: known.isInDescription || field === 'description',
    })
  }
}

function readArguments(
  schema: JsonValue | undefined,
  read: { arguments: string; argumentTexts: string; values: string },
  depth: number,
): void {
  if (!isJsonObject(schema) || depth > DEPTH_MAX) return
  const { properties, description, enum: allowed, examples } = schema
  if (isJsonObject(properties)) read.arguments += ` ${Object.keys(properties).join(' ')}`
  if (depth > 0 && typeof description === 'string') read.argumentTexts += ` ${description}`
  for (const values of [allowed, examples])
    if (Array.isArray(values))
      read.values += ` ${values.filter((value) => typeof value === 'string').join(' ')}`
  for (const { schema: below } of subschemas(schema)) readArguments(below, read, depth + 1)
}

const DATE_TERMS = new Set(termsOf(['date', 'year', 'month', 'day']))

function ofRequired({
  properties,
  required,
}: JsonObject): Pick<IndexedTool, 'required' | 'requiredNumbers' | 'requiresDate'> {
  if (!isJsonObject(properties) || !Array.isArray(required))
    return { required: 0, requiredNumbers: 0, requiresDate: false }
  const names = required.filter((name) => typeof name === 'string')
  return {
    required: names.length,
    requiredNumbers: names.filter((name) => isNumeric(properties[name])).length,
    requiresDate: names.some((name) =>
      termsOf(splitWords(name.slice(0, FIELD_LENGTH_MAX))).some((term) => DATE_TERMS.has(term)),
    ),
  }
}

function isNumeric(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false
  const { type, items } = schema
  if (type === 'array') return isJsonObject(items) && isNumeric(items)
  return type === 'integer' || type === 'number'
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
