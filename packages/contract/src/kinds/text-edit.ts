import { spelled, type Canonical } from './canonical.ts'

/** What a handler's type does to a text before the handler gets it, without code of the module. */
export const TEXT_EDITS = ['strip', 'lower', 'upper', 'strip-lower', 'strip-upper', 'base64'] as const
export type TextEdit = (typeof TEXT_EDITS)[number]

/** White space as Unicode has it, which is what pydantic strips. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

export function edited(edit: TextEdit, text: string): Canonical {
  if (edit === 'base64') return canonicalBase64(text)
  const stripped = edit.startsWith('strip') ? withoutEdges(text, SPACE) : text
  if (edit.endsWith('lower')) return spelled(stripped.toLowerCase())
  return spelled(edit.endsWith('upper') ? stripped.toUpperCase() : stripped)
}

export function isSpace(character: string): boolean {
  return SPACE.test(character)
}

/**
 * A text without the characters of a pattern at its ends. A regular expression for the end would read each run of these characters
 * to its end.
 */
export function withoutEdges(text: string, edge: RegExp): string {
  let start = 0
  let end = text.length
  while (start < end && edge.test(text[start] ?? '')) start += 1
  while (end > start && edge.test(text[end - 1] ?? '')) end -= 1
  return text.slice(start, end)
}

/** The alphabet of RFC 4648, section 4, with its padding. Readers also take that of URLs, and no padding. */
function canonicalBase64(text: string): Canonical {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return 'unclear'
  const digits = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  return spelled(digits + '='.repeat((4 - (digits.length % 4)) % 4))
}
