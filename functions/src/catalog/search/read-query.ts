import { DATE, namesDay, valuesIn, type Needs } from './needs.ts'
import { isTelling, phrasesIn, splitWords, termsOf } from './words.ts'

/** The most UTF-16 code units of a query that are read. The longest requests of people in real data have 1,200. */
export const QUERY_LENGTH_MAX = 1_000

/** The most different terms that are read from a query. For each term, every tool that has it must be read. */
const TERMS_MAX = 64

/**
 * How much a term counts that is in the query only in quotation marks. Such a term is mostly a value, and does not say what the
 * tool does.
 */
const QUOTED = 0.5
/** Matches a quotation of at most 100 code units. The limit keeps the time for a query linear in its length. */
const QUOTATION = /(?<![\p{L}\p{N}])(?:'[^']{1,100}'|"[^"]{1,100}"|“[^”]{1,100}”)(?![\p{L}\p{N}])/gu

/** The term that a request is given if it names a day. Such a request is probably for a tool that takes a date. */
const HINT = { term: DATE, factor: 0.5 }

export type QueryTerm = { readonly term: string; readonly factor: number }

export type ReadQuery = {
  /** The terms of the query. Empty if the query has no words. */
  readonly terms: readonly QueryTerm[]
  /** Terms that the query does not contain, but that it implies. */
  readonly hints: readonly QueryTerm[]
  /** The values that the query contains. Undefined if the query does not tell whether it has values. */
  readonly values: Needs | undefined
  /** Hashes of all pairs of neighboring words in the query. */
  readonly phrases: ReadonlySet<number>
  /**
   * All words of the query, if all of them are stop words. Then the query can only mean a tool whose name consists of these
   * words.
   */
  readonly littleTelling: ReadonlySet<string> | undefined
  /** The parts of the query that may be the name of a tool, spelled as in the query. */
  readonly names: readonly string[]
}

/** Reads a query. Of a long query, the middle is left out, because people write their question before or after a pasted text. */
export function readQuery(whole: string): ReadQuery {
  const half = QUERY_LENGTH_MAX / 2
  const query = whole.length <= QUERY_LENGTH_MAX ? whole : `${whole.slice(0, half)} ${whole.slice(-half)}`
  const words = splitWords(query)
  const telling = words.filter(isTelling)
  const unquoted = new Set(termsOf(splitWords(query.replace(QUOTATION, ' '))))
  const distinct = [...new Set(termsOf(telling.length > 0 ? telling : words))].slice(0, TERMS_MAX)
  const terms = distinct.map((term) => ({
    term,
    factor: unquoted.size === 0 || unquoted.has(term) ? 1 : QUOTED,
  }))
  const isHinted = telling.length > 0 && namesDay(query) && !distinct.includes(DATE)
  return {
    terms,
    hints: isHinted ? [HINT] : [],
    values: valuesIn(query, words),
    phrases: new Set(phrasesIn(words)),
    littleTelling: telling.length > 0 ? undefined : new Set(words),
    names: namesIn(query),
  }
}

/**
 * The parts of the query that may be the name of a tool: the whole query, and each part that looks like a name and not like a
 * word.
 */
function namesIn(query: string): readonly string[] {
  const parts = query
    .split(/\s+/)
    .map((part) => part.replace(/^[^\p{L}_]{1,100}|[^\p{L}\p{N}_]{1,100}$/gu, ''))
  const names = parts.filter((part) => /[\p{L}\p{N}][_.:-][\p{L}\p{N}]|\p{L}\p{N}|\p{Ll}\p{Lu}/u.test(part))
  return [...new Set([query.trim(), ...names])].slice(0, TERMS_MAX)
}
