import { isToolrackError, ToolrackError } from '@toolrack/contract'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { tokenInvalid } from '../../access/authenticate.ts'
import { CLOCK_TOLERANCE_SECONDS, GOOGLE_LIFETIME_SECONDS_MAX, livingClaims } from '../../access/claims.ts'
import type { VerifyToken } from '../../access/claims.ts'

/** Public keys, or the address that publishes them. */
export type KeySource = { readonly url: string } | { readonly keys: JSONWebKeySet['keys'] }

/** What a token must be. Nothing in the token changes these rules. */
type JwtRules = {
  readonly algorithm: 'RS256' | 'ES256'
  /** The allowed `typ`s. Undefined allows a header without one. */
  readonly types: readonly (string | undefined)[]
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  readonly lifetimeSecondsMax: number
}

/** jose also reads base64 with padding. Here a token has only one spelling. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Verifies tokens of one kind. jose is loaded with the first token, so that a service without tokens never loads it. */
export function jwtVerifier(rules: JwtRules, source: KeySource, now: () => number): VerifyToken {
  let keys: Promise<JWTVerifyGetKey> | undefined
  return async function verify(token) {
    if (!COMPACT.test(token)) throw tokenInvalid()
    const { errors, jwtVerify } = await import('jose')
    const findKey = await (keys ??= keyFinder(source))
    const options = {
      algorithms: [rules.algorithm],
      issuer: [...rules.issuers],
      audience: [...rules.audiences],
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(now()),
    }
    const { payload, protectedHeader } = await jwtVerify(token, findKey, options).catch((error: unknown) => {
      if (error instanceof errors.JOSEError) throw tokenInvalid(error)
      throw isToolrackError(error) ? error : keysUnavailable(error)
    })
    if (!rules.types.includes(protectedHeader.typ)) throw tokenInvalid()
    return livingClaims(payload, rules.lifetimeSecondsMax, now())
  }
}

/** How long a fetched key set is used, and how long a fetch may take, in milliseconds. */
const KEYS_MS = 60 * 60 * 1_000
const FETCH_MS = 3_000

/**
 * Finds the key that a token's header names. A missing or unknown kid is a fault of the token, every other error is ours. An
 * unknown kid fetches the keys again, at most once in 30 seconds, which is jose's default.
 */
async function keyFinder(source: KeySource): Promise<JWTVerifyGetKey> {
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

function keysUnavailable(cause: unknown): ToolrackError {
  return new ToolrackError('KEYS_UNAVAILABLE', undefined, { cause })
}

/** Google writes `typ: JWT`, but does not guarantee it. */
const GOOGLE = {
  algorithm: 'RS256',
  types: ['JWT', undefined],
  lifetimeSecondsMax: GOOGLE_LIFETIME_SECONDS_MAX,
} as const

/** Where Google publishes the keys of Firebase ID tokens and of OIDC tokens. */
const FIREBASE_KEYS = {
  url: 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
}
const ACCOUNT_KEYS = { url: 'https://www.googleapis.com/oauth2/v3/certs' }

/** Verifies the ID tokens of a Firebase project's users. */
export function firebaseTokens(projectId: string, now: () => number, keys: KeySource = FIREBASE_KEYS) {
  const issuers = [`https://securetoken.google.com/${projectId}`]
  return jwtVerifier({ ...GOOGLE, issuers, audiences: [projectId] }, keys, now)
}

/** Verifies the OIDC tokens of Google accounts. */
export function accountTokens(
  audiences: readonly string[],
  now: () => number,
  keys: KeySource = ACCOUNT_KEYS,
): VerifyToken {
  const issuers = ['https://accounts.google.com', 'accounts.google.com']
  return jwtVerifier({ ...GOOGLE, issuers, audiences }, keys, now)
}
