import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'
import { isNumber, splitWords, termsOf } from './words.ts'

/** What a tool cannot be called without: how many numbers, and whether a date. */
export type Needs = { readonly numbers: number; readonly date: boolean }

/** The part of a score that remains for each missing value, for at most MISSING_MAX of them. */
const MISSING = 0.8
/** The most missing values that count. More of them say nothing more about whether a tool fits. */
const MISSING_MAX = 3
/** A query with fewer words is keywords, which have no values. */
const REQUEST_MIN = 5

/** The term that tools with a date have. */
export const DATE = termsOf(['date'])[0] ?? ''
const DATE_TERMS = new Set(termsOf(['date', 'year', 'month', 'day']))
const DAY =
  /\b(?:1[5-9]|20)\d\d\b|\b\d{1,2}(?:[/-]\d|st\b|nd\b|rd\b|th\b)|\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tonight|tomorrow|yesterday)\b/i

/** Reads the required arguments of a tool. */
export function needsOf({ properties, required }: JsonObject): Needs {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const schemas = isJsonObject(properties) ? properties : {}
  return {
    numbers: Math.min(MISSING_MAX, names.filter((name) => isNumeric(schemas[name])).length),
    date: names.some((name) => termsOf(splitWords(name)).some((term) => DATE_TERMS.has(term))),
  }
}

/** The values that a query has. Undefined for keywords, and for a query in another script, whose words for days are not known here. */
export function valuesIn(query: string, words: readonly string[]): Needs | undefined {
  if (words.length < REQUEST_MIN || words.some((word) => /[^\0-\x7f]/.test(word))) return undefined
  return { numbers: words.filter(isNumber).length, date: namesDay(query) }
}

/** True for a query that names a day. */
export function namesDay(query: string): boolean {
  return DAY.test(query)
}

/** What is left of a score if a query does not have what the tool needs: 1 if it has all. */
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
