import { hashedAlias, plainAlias } from './alias-rule.ts'
import { sha256Hex } from './sha256.ts'

/** A tool's name as a vendor allows it. */
export function aliasOf(name: string): string {
  return plainAlias(name) ?? hashedAlias(name, sha256Hex(name))
}
