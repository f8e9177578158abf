/** What OpenAI and Anthropic both allow as a function name. */
const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * The one home of the rule for aliases, the names by which vendors are given tools:
 *
 * - A name that is allowed already is its own alias.
 * - A name with one `:` that is otherwise allowed and holds no `__` gets `__` in its place.
 * - Any other gets `_` for each character that is not allowed, is cut to 55 characters, and ends in `_` and the first
 *   8 hex digits of its SHA-256.
 *
 * Two names can share an alias (`a:b` and `a__b`): resolve by a map that prefers the exact name, never by parsing.
 * This is the part that needs no hash; undefined for a name that does.
 */
export function plainAlias(name: string): string | undefined {
  if (VENDOR_NAME.test(name)) return name
  const parted = name.replace(':', '__')
  return !name.includes('__') && VENDOR_NAME.test(parted) ? parted : undefined
}

/** The alias of a name that has no plain one; `sha256Hex` is the SHA-256 of the name, in hex digits. */
export function hashedAlias(name: string, sha256Hex: string): string {
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${sha256Hex.slice(0, 8)}`
}
