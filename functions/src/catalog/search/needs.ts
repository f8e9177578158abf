import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'
import { isNumber, splitWords, termsOf } from './words.ts'

/** Which values a call of a tool needs: how many numbers, and whether it needs a date. */
export type Needs = { readonly numbers: number; readonly date: boolean }

/** A tool's score is multiplied by this factor for each value that the query lacks, at most MISSING_MAX times. */
const MISSING = 0.8
/** How many missing values lower a score. More missing values say nothing more about whether a tool fits. */
const MISSING_MAX = 3
/** The fewest words of a query that counts as a request. A shorter query has only keywords, and keywords contain no values. */
const REQUEST_MIN = 5

/** The term for a date. Tools that take a date have it. */
export const DATE = termsOf(['date'])[0] ?? ''
const DATE_TERMS = new Set(termsOf(['date', 'year', 'month', 'day']))
const DAY =
  /\b(?:1[5-9]|20)\d\d\b|\b\d{1,2}(?:[/-]\d|st\b|nd\b|rd\b|th\b)|\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tonight|tomorrow|yesterday)\b/i

/** Finds out from the required arguments of a tool which values it needs. */
export function needsOf({ properties, required }: JsonObject): Needs {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const schemas = isJsonObject(properties) ? properties : {}
  return {
    numbers: Math.min(MISSING_MAX, names.filter((name) => isNumeric(schemas[name])).length),
    date: names.some((name) => termsOf(splitWords(name)).some((term) => DATE_TERMS.has(term))),
  }
}

/**
 * Counts the numbers in a query, and tells whether it names a day. Undefined for keywords. Also undefined for a query in another
 * script, because its words for days are not known here.
 */
export function valuesIn(query: string, words: readonly string[]): Needs | undefined {
  if (words.length < REQUEST_MIN || words.some((word) => /[^\0-\x7f]/.test(word))) return undefined
  return { numbers: words.filter(isNumber).length, date: namesDay(query) }
}

/** True for a query that names a day. */
export function namesDay(query: string): boolean {
  return DAY.test(query)
}

/**
 * The factor for the score of a tool. It is 1 if the query has all values that the tool needs, and lower if values are missing.
 */
export function shareLeft(needs: Needs, values: Needs | undefined): number {
  if (!values) return 1
  const missing = Math.max(0, needs.numbers - values.numbers) + (needs.date && !values.date ? 1 : 0)
  return MISSING ** Math.min(MISSING_MAX, missing)
}

function isNumeric(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false
  const { type, items } = schema
  return type === 'integer' || type === 'number' || (type === 'array' && isNumeric(items))
}
