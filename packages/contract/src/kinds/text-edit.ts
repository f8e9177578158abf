import { spelled, type Canonical } from './canonical.ts'

/**
 * How the type of a handler's argument can change a text before the handler gets it. No code of the module runs for these
 * changes.
 */
export const TEXT_EDITS = ['strip', 'lower', 'upper', 'strip-lower', 'strip-upper', 'base64'] as const
export type TextEdit = (typeof TEXT_EDITS)[number]

/** Matches white space as Unicode defines it, which pydantic removes from the ends of a text. */
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
 * Removes the characters that match `edge` from both ends of a text. A regular expression for the end of the text would read each
 * run of these characters to its end, which takes quadratic time.
 */
export function withoutEdges(text: string, edge: RegExp): string {
  let start = 0
  let end = text.length
  while (start < end && edge.test(text[start] ?? '')) start += 1
  while (end > start && edge.test(text[end - 1] ?? '')) end -= 1
  return text.slice(start, end)
}

/**
 * Spells base64 with the alphabet and padding of RFC 4648, section 4. Also accepts the alphabet for URLs, and texts without
 * padding.
 */
function canonicalBase64(text: string): Canonical {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return 'unclear'
  const digits = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  return spelled(digits + '='.repeat((4 - (digits.length % 4)) % 4))
}
