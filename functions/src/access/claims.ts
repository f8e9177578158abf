import { tokenInvalid } from './authenticate.ts'

/** What a token says whose signature, issuer and audience have been checked. Times are in seconds. */
export type Claims = {
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly [claim: string]: unknown
}

/** Rejects with TOKEN_INVALID, and with KEYS_UNAVAILABLE when it can't tell. */
export type VerifyToken = (token: string) => Promise<Claims>

/** How far the clock of an issuer may be ahead of ours. */
export const CLOCK_TOLERANCE_SECONDS = 5

/** Claims with a subject and a life that has begun, has not ended, and is no longer than its kind may live; else TOKEN_INVALID. */
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

/** Whether a time that an issuer has written is not in the future. */
export function isPast(seconds: unknown, nowMs: number): boolean {
  return typeof seconds === 'number' && (seconds - CLOCK_TOLERANCE_SECONDS) * 1_000 <= nowMs
}
