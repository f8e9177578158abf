import { spelled, type Canonical } from './canonical.ts'

const HYPHENATED = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const DIGITS = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/
/** Matches a UUID in braces, or after `urn:uuid:`. */
const AROUND = /^(?:\{(.{36})\}|urn:uuid:(.{36}))$/

/** Spells a UUID in lower case with hyphens. Accepts every spelling that the standard libraries accept. */
export function canonicalUuid(text: string): Canonical {
  if (text.length > 'urn:uuid:'.length + 36) return 'none'
  const lower = text.toLowerCase()
  const groups = DIGITS.exec(lower)
  if (groups) return spelled(groups.slice(1).join('-'))
  const [, braced, named = lower] = AROUND.exec(lower) ?? []
  const uuid = braced ?? named
  return HYPHENATED.test(uuid) ? spelled(uuid) : 'none'
}
