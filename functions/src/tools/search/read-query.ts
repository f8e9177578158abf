import { hintsOf, mayNameDate, numbersIn, properNamesIn, synonymsOf } from './meanings.ts'
import { isTelling, splitWords, termsOf } from './words.ts'

/** The most UTF-16 code units of a query. Requests of people in real data have at most 600. */
export const QUERY_LENGTH_MAX = 1_000

/** The most different terms of a query, in the order in which it has them. Each costs a look at every tool that has it. */
const TERMS_MAX = 64

/** A query with this many words is a whole request, and not keywords. */
const SENTENCE = 8

const SYNONYM_FACTOR = 0.35
const HINT_FACTOR = 0.6

/** A term that is looked up. `isWritten` is false for synonyms and hints, which count less. */
type QueryTerm = { readonly term: string; readonly factor: number; readonly isWritten: boolean }

export type ReadQuery = {
  /** All words of the query in their order. */
  readonly words: readonly string[]
  /** Empty for a query without words. */
  readonly terms: readonly QueryTerm[]
  readonly numbers: number
  /** How many values the query has that can be arguments: numbers, proper names and quoted texts. */
  readonly values: number
  readonly mayNameDate: boolean
  /** True for a whole request. Keywords have no numbers and no dates, whatever the tool needs. */
  readonly isRequest: boolean
}

/** Reads a query. Of a longer one, the first QUERY_LENGTH_MAX code units are read. */
export function readQuery(whole: string): ReadQuery {
  const query = whole.slice(0, QUERY_LENGTH_MAX)
  const words = splitWords(query)
  const telling = words.filter(isTelling)
  const written = [...new Set(termsOf(telling.length > 0 ? telling : words))].slice(0, TERMS_MAX)
  const terms = new Map<string, QueryTerm>()
  const add = (term: string, factor: number, isWritten: boolean): void => {
    if (!terms.has(term)) terms.set(term, { term, factor, isWritten })
  }
  for (const term of written) add(term, 1, true)
  for (const term of written) for (const other of synonymsOf(term)) add(other, SYNONYM_FACTOR, false)
  if (written.length > 0) for (const term of hintsOf(query, words)) add(term, HINT_FACTOR, false)
  const numbers = numbersIn(query, words)
  return {
    words,
    terms: [...terms.values()],
    numbers,
    values: numbers + properNamesIn(query),
    mayNameDate: mayNameDate(query, words),
    isRequest: numbers > 0 || words.length >= SENTENCE,
  }
}
