import { ToolrackError } from '@toolrack/contract'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'

/** Where the public keys are: at an address, or here. */
export type KeySource = { readonly url: string } | { readonly keys: JSONWebKeySet['keys'] }

/** How long a fetched key set is used, and how long a fetch may take, in milliseconds. An unknown kid fetches again, at most each half minute. */
const KEYS_MS = 60 * 60 * 1_000
const FETCH_MS = 3_000

/** Finds the key that a token's header names. A token without a kid, or with one that no key has, is the token's fault; anything else is ours. */
export async function keyFinder(source: KeySource): Promise<JWTVerifyGetKey> {
  const { createLocalJWKSet, createRemoteJWKSet, errors } = await import('jose')
  const find =
    'url' in source
      ? createRemoteJWKSet(new URL(source.url), { cacheMaxAge: KEYS_MS, timeoutDuration: FETCH_MS })
      : createLocalJWKSet({ keys: source.keys })
  return async function findKey(header, token) {
    if (typeof header?.kid !== 'string') throw new errors.JWKSNoMatchingKey()
    try {
      return await find(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
        throw error
      throw keysUnavailable(error)
    }
  }
}

export function keysUnavailable(cause: unknown): ToolrackError {
  return new ToolrackError('KEYS_UNAVAILABLE', undefined, { cause })
}
