import { isJsonObject, subschemas, type JsonObject, type JsonValue } from '@toolrack/contract'
import { definitionOf, type CatalogEntry } from '../views/catalog-entry.ts'
import { needsOf } from './needs.ts'
import { toolFacts, type ToolFacts } from './twins.ts'
import { isTelling, splitWords, termsOf } from './words.ts'

/** The data that the index keeps of one tool. */
export type IndexedTool = {
  /** For each term, the weight of its occurrences. `isHead` is false if only the arguments contain the term. */
  readonly terms: ReadonlyMap<string, { readonly weight: number; readonly isHead: boolean }>
  readonly facts: ToolFacts
}

/**
 * How much one occurrence of a word counts in each field. Texts about the arguments count half (docs/decisions/0034-search.md).
 */
const FIELDS = { name: 1, description: 1, labels: 1, arguments: 0.5 } as const
type Field = keyof typeof FIELDS

/**
 * In a tool with this many terms, an occurrence counts its full weight. In a longer tool it counts less, as in BM25. DAMPING says
 * how much less.
 */
const USUAL_LENGTH = 50
const DAMPING = 0.75

/** The most UTF-16 code units of each field that are read. Nearly all fields are shorter. */
const FIELD_LENGTH_MAX = 10_000
/** How many levels of nested arguments are read. Deeper arguments do not say what a tool is for. */
const DEPTH_MAX = 6

/** Reads the definition of a tool for the index. */
export function indexedTool(entry: CatalogEntry): IndexedTool {
  const { description, parameters } = definitionOf(entry).function
  const labels = [entry.category ?? '', ...entry.tags].join(' ')
  const texts = {
    name: entry.name,
    description: description.slice(0, FIELD_LENGTH_MAX),
    labels: labels.slice(0, FIELD_LENGTH_MAX),
    arguments: argumentTexts(parameters).join(' '),
  }
  const terms = new Map<string, { weight: number; isHead: boolean }>()
  let length = 0
  for (const field of Object.keys(FIELDS) as Field[]) {
    const words = splitWords(texts[field])
    // Names keep stop words, because a name such as `who_is` has no other words.
    const found = termsOf(field === 'name' ? words : words.filter(isTelling))
    length += found.length
    for (const term of found) {
      const { weight, isHead } = terms.get(term) ?? { weight: 0, isHead: false }
      terms.set(term, { weight: weight + FIELDS[field], isHead: isHead || field !== 'arguments' })
    }
  }
  const damping = 1 - DAMPING + (DAMPING * length) / USUAL_LENGTH
  for (const [term, { weight, isHead }] of terms) terms.set(term, { weight: weight / damping, isHead })
  const described = splitWords(texts.description)
  const facts = toolFacts(entry.name, described, namesOf(parameters), needsOf(parameters))
  return { terms, facts }
}

/** The names of the arguments, their descriptions, and the values that they may have. At most FIELD_LENGTH_MAX code units of each kind. */
function argumentTexts(parameters: JsonObject): readonly string[] {
  const read = { names: '', descriptions: '', values: '' }
  readArguments(parameters, read, 0)
  return Object.values(read).map((text) => text.slice(0, FIELD_LENGTH_MAX))
}

function readArguments(
  schema: JsonValue | undefined,
  read: { names: string; descriptions: string; values: string },
  depth: number,
): void {
  if (!isJsonObject(schema) || depth > DEPTH_MAX) return
  const { description, enum: allowed, examples } = schema
  read.names += ` ${namesOf(schema).join(' ')}`
  if (depth > 0 && typeof description === 'string') read.descriptions += ` ${description}`
  for (const values of [allowed, examples])
    if (Array.isArray(values))
      read.values += ` ${values.filter((value) => typeof value === 'string').join(' ')}`
  for (const { schema: below } of subschemas(schema)) readArguments(below, read, depth + 1)
}

function namesOf({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
}
