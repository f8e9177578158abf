import type { JsonValue } from './json.ts'

/**
 * The canonical JSON text of a value (RFC 8785): keys sorted by UTF-16 code unit, no white space, numbers and strings
 * as ECMAScript writes them. Two equal values always give the same text, in every language that follows the RFC.
 * Recurses: give it only values of a checked depth.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value as { [key: string]: JsonValue })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}
