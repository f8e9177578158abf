import { sha256Hex } from './sha256.ts'

/** What OpenAI and Anthropic both allow as a function name. */
const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * A tool's name as a vendor allows it.
 *
 * - A name that is allowed already is its own alias.
 * - A name with one `:` that is otherwise allowed and holds no `__` gets `__` in its place.
 * - Any other gets `_` for each character that is not allowed, is cut to 55 characters, and ends in `_` and the first
 *   8 hex digits of its SHA-256.
 *
 * Two names can share an alias (`a:b` and `a__b`): resolve by a map that prefers the exact name, never by parsing.
 */
export function aliasOf(name: string): string {
  if (VENDOR_NAME.test(name)) return name
  const parted = name.replace(':', '__')
  if (!name.includes('__') && VENDOR_NAME.test(parted)) return parted
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${sha256Hex(name).slice(0, 8)}`
}
