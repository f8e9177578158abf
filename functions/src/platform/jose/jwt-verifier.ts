import { isToolrackError, ToolrackError } from '@toolrack/contract'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { tokenInvalid } from '../../access/authenticate.ts'
import { CLOCK_TOLERANCE_SECONDS, GOOGLE_LIFETIME_SECONDS_MAX, livingClaims } from '../../access/claims.ts'
import type { VerifyToken } from '../../access/claims.ts'

/** Public keys, or the address at which they are published. */
export type KeySource = { readonly url: string } | { readonly keys: JSONWebKeySet['keys'] }

/** What is required of a token. Nothing in a token can change these rules. */
type JwtRules = {
  readonly algorithm: 'RS256' | 'ES256'
  /** The allowed values of `typ` in the header. Undefined allows a header without `typ`. */
  readonly types: readonly (string | undefined)[]
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  readonly lifetimeSecondsMax: number
}

/** Matches the only spelling of a token that is accepted. jose would also accept base64 with padding. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Makes a function that verifies tokens of one kind. jose is loaded with the first token, so a service without tokens never loads
 * it.
 */
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

/** How long a fetched key set is used, in milliseconds. */
const KEYS_MS = 60 * 60 * 1_000
/** How long a fetch of a key set may take, in milliseconds. */
const FETCH_MS = 3_000

/**
 * Makes a function that finds the key that a token names in its header (`kid`). A missing or unknown `kid` is a fault of the
 * token. Every other error is KEYS_UNAVAILABLE. If the `kid` is unknown, the keys are fetched again, at most once in 30 seconds,
 * which is jose's default.
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

/** The rules for tokens of Google. Google writes `typ: JWT`, but does not promise it. */
const GOOGLE = {
  algorithm: 'RS256',
  types: ['JWT', undefined],
  lifetimeSecondsMax: GOOGLE_LIFETIME_SECONDS_MAX,
} as const

/** The address of the public keys for Firebase ID tokens. */
const FIREBASE_KEYS = {
  url: 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
}
/** The address of the public keys for OIDC tokens of Google accounts. */
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
