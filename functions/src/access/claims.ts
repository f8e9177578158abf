import { ToolrackError } from '@toolrack/contract'
import { tokenInvalid } from './authenticate.ts'
import { isUid, UID_RULE, type AccountJob, type User } from './principal.ts'

/** The claims of a token whose signature, issuer and audience have been checked. Times are in seconds. */
export type Claims = {
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly [claim: string]: unknown
}

/** Verifies a token. Rejects with TOKEN_INVALID, or with KEYS_UNAVAILABLE if the keys cannot be read. */
export type VerifyToken = (token: string) => Promise<Claims>

/** How far the clock of an issuer may be ahead of the clock of this server. */
export const CLOCK_TOLERANCE_SECONDS = 5

/** The longest lifetime of a token of Firebase or Google, in seconds. They issue no token with a longer lifetime. */
export const GOOGLE_LIFETIME_SECONDS_MAX = 3_600

/**
 * Returns the claims of a token. Throws TOKEN_INVALID if a claim is missing, or if the token is not valid yet, has expired or has
 * too long a lifetime.
 */
export function livingClaims(
  claims: { readonly [claim: string]: unknown },
  lifetimeSecondsMax: number,
  nowMs: number,
): Claims {
  const { sub, iat, exp } = claims
  if (typeof sub !== 'string' || sub === '' || typeof iat !== 'number' || typeof exp !== 'number')
    throw tokenInvalid()
  const isLiving = isPast(iat, nowMs) && exp * 1_000 > nowMs
  if (!isLiving || !(exp > iat && exp - iat <= lifetimeSecondsMax)) throw tokenInvalid()
  return { ...claims, sub, iat, exp }
}

function isPast(seconds: unknown, nowMs: number): boolean {
  return typeof seconds === 'number' && (seconds - CLOCK_TOLERANCE_SECONDS) * 1_000 <= nowMs
}

/** The custom claim that makes a user an admin. */
export const ADMIN_CLAIM = 'toolrackAdmin'

/** The user of a verified Firebase ID token. */
export function firebaseUser(claims: Claims, nowMs: number): User {
  if (!isUid(claims.sub) || !isPast(claims['auth_time'], nowMs)) throw tokenInvalid()
  return { kind: 'user', uid: claims.sub, isAdmin: claims[ADMIN_CLAIM] === true, mayApprove: true }
}

/** A service account that may act as a job. Each of its requests names the user for whom it acts. */
export type ServiceAccount = { readonly kind: 'account'; readonly email: string }

/** The service account of a verified Google OIDC token. Throws PERMISSION_DENIED if its email address is not in `allowed`. */
export function serviceAccount(claims: Claims, allowed: readonly string[]): ServiceAccount {
  const { email, email_verified: isVerified } = claims
  if (typeof email !== 'string' || isVerified !== true) throw tokenInvalid()
  if (!allowed.includes(email))
    throw new ToolrackError('PERMISSION_DENIED', 'This service account may not act as a job here.')
  return { kind: 'account', email }
}

/**
 * The principal of a service account that acts for the user in the header `X-User-Id`. Throws HEADER_INVALID if the header has no
 * valid user id.
 */
export function actingFor(userId: string | undefined): AccountJob {
  if (isUid(userId)) return { kind: 'job', uid: userId, isAdmin: false }
  const fault = userId === undefined ? 'is missing' : 'is not a user id'
  throw new ToolrackError(
    'HEADER_INVALID',
    `X-User-Id ${fault}; it says for whom a service account acts, and ${UID_RULE}.`,
  )
}
