import { ToolrackError } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/** What a request brings to say who sends it, and the route family that it came to. */
export type Credentials = {
  readonly authorization: string | undefined
  /** The header `X-User-Id`: the user for whom a service account acts. */
  readonly userId: string | undefined
  readonly family: 'workflows' | 'jobs'
}

/**
 * Finds out who sends a request, at once where nothing has to be verified. Throws or rejects with TOKEN_INVALID for every
 * fault of the token, with HEADER_INVALID when a service account does not say for whom it acts, with PERMISSION_DENIED when
 * it may not act here, and with KEYS_UNAVAILABLE.
 */
export type Authenticate = (credentials: Credentials) => Principal | Promise<Principal>

/** Longer tokens are refused before anything is done with them. */
export const TOKEN_BYTES_MAX = 16 * 1024

const SCHEME = 'bearer '

/** The token of an `Authorization` header; undefined when there is none, or one that is too long. */
export function findBearerToken(authorization = ''): string | undefined {
  const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME
  if (!isBearer || authorization.length > SCHEME.length + TOKEN_BYTES_MAX) return undefined
  return authorization.slice(SCHEME.length)
}

/** The token of an `Authorization` header. Throws TOKEN_INVALID when there is none. */
export function bearerToken(authorization: string | undefined): string {
  const token = findBearerToken(authorization)
  if (token === undefined) throw tokenInvalid()
  return token
}

/** The same error for every fault of a token, so that it does not help to guess one. */
export function tokenInvalid(cause?: unknown): ToolrackError {
  return new ToolrackError('TOKEN_INVALID', undefined, { cause })
}
