import { ToolrackError } from '@toolrack/contract'
import { tokenInvalid } from './authenticate.ts'
import type { Claims } from './claims.ts'
import type { AccountJob } from './principal.ts'
import { isUid, UID_RULE } from './uid.ts'

/** A service account that may act as a job; for whom, each request says. */
export type ServiceAccount = { readonly kind: 'account'; readonly email: string }

/** The account of a verified Google OIDC token; PERMISSION_DENIED when it is not on the list. */
export function serviceAccount(claims: Claims, allowed: readonly string[]): ServiceAccount {
  const { email, email_verified: isVerified } = claims
  if (typeof email !== 'string' || isVerified !== true) throw tokenInvalid()
  if (!allowed.includes(email))
    throw new ToolrackError('PERMISSION_DENIED', 'This service account may not act as a job here.')
  return { kind: 'account', email }
}

/** The user that `X-User-Id` names. */
export function actingFor(userId: string | undefined): AccountJob {
  if (!isUid(userId)) {
    const fault = userId === undefined ? 'is missing' : 'is not a user id'
    throw new ToolrackError(
      'HEADER_INVALID',
      `X-User-Id ${fault}; it says for whom a service account acts, and ${UID_RULE}.`,
    )
  }
  return { kind: 'job', uid: userId, isAdmin: false }
}
