import { sha256Hex } from './sha256.ts'

/** The function names that OpenAI and Anthropic both allow. */
const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * The rule for aliases. An alias is the name of a tool in a form that vendors allow:
 *
 * - A name that vendors allow is its own alias.
 * - In a name with one `:`, the `:` becomes `__`, if the result is allowed and the name holds no `__`.
 * - In any other name each character that is not allowed becomes `_`. The name is cut to 55 characters and ends in `_`
 *   and the first 8 hex digits of its SHA-256.
 *
 * Two names can share an alias (`a:b` and `a__b`). So look an alias up in a map that prefers exact names, and never
 * parse it.
 */
export function aliasOf(name: string): string {
  return plainAlias(name) ?? hashedAlias(name, sha256Hex(name))
}

/** The alias by the first two rules, or undefined if the name needs a hash. */
export function plainAlias(name: string): string | undefined {
  if (VENDOR_NAME.test(name)) return name
  const parted = name.replace(':', '__')
  return !name.includes('__') && VENDOR_NAME.test(parted) ? parted : undefined
}

/** The alias by the third rule. `sha256` is the SHA-256 of the name in hex digits. */
export function hashedAlias(name: string, sha256: string): string {
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${sha256.slice(0, 8)}`
}
