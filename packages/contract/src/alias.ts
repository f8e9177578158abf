import { sha256Hex } from './sha256.ts'

/** Matches the function names that both OpenAI and Anthropic allow. */
const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Makes the alias of a tool name: the name in a form that vendors allow. There are three rules, in this order:
 *
 * 1. A name that vendors allow is its own alias.
 * 2. In a name with one `:`, the `:` becomes `__`. This rule needs a name without `__` and a result that vendors allow.
 * 3. In any other name, each character that is not allowed becomes `_`. The alias is the first 55 characters of that text,
 *    then `_`, then the first 8 hex digits of the SHA-256 of the name.
 *
 * Two names can have the same alias: `a:b` and `a__b`. So find the tool of an alias in a map that prefers exact names.
 * Never parse an alias.
 */
export function aliasOf(name: string): string {
  return plainAlias(name) ?? hashedAlias(name, sha256Hex(name))
}

/** The alias by rule 1 or 2, or undefined if the name needs a hash. */
export function plainAlias(name: string): string | undefined {
  if (VENDOR_NAME.test(name)) return name
  const parted = name.replace(':', '__')
  return !name.includes('__') && VENDOR_NAME.test(parted) ? parted : undefined
}

/** The alias by rule 3. `sha256` is the SHA-256 of the name in hex digits. */
export function hashedAlias(name: string, sha256: string): string {
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${sha256.slice(0, 8)}`
}
