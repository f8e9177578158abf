import { hashedAlias, plainAlias } from '@toolrack/contract'
import { sha256Hex } from './sha256.ts'

/** A tool's name as a vendor allows it. Throws CRYPTO_MISSING, if it takes a hash. */
export async function aliasOf(name: string): Promise<string> {
  return plainAlias(name) ?? hashedAlias(name, await sha256Hex(name))
}
