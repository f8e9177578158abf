import { ToolrackError } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/** The headers of a request that identify its sender, and the route family of the request. */
export type Credentials = {
  readonly authorization: string | undefined
  /** The header `X-User-Id`: the user for whom a service account acts. */
  readonly userId: string | undefined
  readonly family: 'workflows' | 'jobs'
}

/**
 * Finds the sender of a request. The result is a promise only if a token must be verified. Throws or rejects with one of these
 * errors:
 *
 * - TOKEN_INVALID for every fault of the token,
 * - HEADER_INVALID if a service account does not name its user,
 * - PERMISSION_DENIED if the service account may not act here,
 * - KEYS_UNAVAILABLE if the keys cannot be read.
 */
export type Authenticate = (credentials: Credentials) => Principal | Promise<Principal>

/** The most bytes of a token. A longer token is refused before any work is done for it. */
export const TOKEN_BYTES_MAX = 16 * 1024

const SCHEME = 'bearer '

/** The token of an `Authorization` header. Undefined if there is none, or if it is too long. */
export function findBearerToken(authorization = ''): string | undefined {
  const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME
  if (!isBearer || authorization.length > SCHEME.length + TOKEN_BYTES_MAX) return undefined
  return authorization.slice(SCHEME.length)
}

/** The token of an `Authorization` header. Throws TOKEN_INVALID if there is none. */
export function bearerToken(authorization: string | undefined): string {
  const token = findBearerToken(authorization)
  if (token === undefined) throw tokenInvalid()
  return token
}

/** The same error for every fault of a token, so that the error does not help an attacker who guesses. */
export function tokenInvalid(cause?: unknown): ToolrackError {
  return new ToolrackError('TOKEN_INVALID', undefined, { cause })
}
