import { ToolrackError } from '@toolrack/contract'
import type { Auth } from 'firebase-admin/auth'
import { tokenInvalid } from '../../access/authenticate.ts'
import { GOOGLE_LIFETIME_SECONDS_MAX, livingClaims, type VerifyToken } from '../../access/claims.ts'
import { openAuth } from './open-auth.ts'

/** firebase-admin's error codes for faults of a token or of its user. */
const TOKEN_FAULT =
  /^auth\/(?:argument-error|invalid-id-token|id-token-expired|id-token-revoked|user-disabled|user-not-found)$/

/** Asks the Auth emulator, which firebase-admin finds by FIREBASE_AUTH_EMULATOR_HOST, to verify its unsigned tokens. */
export function emulatorTokens(projectId: string, now: () => number): VerifyToken {
  let auth: Promise<Auth> | undefined
  return async function verify(token) {
    const emulator = await (auth ??= openAuth(projectId))
    return emulator.verifyIdToken(token).then(
      (claims) => livingClaims(claims, GOOGLE_LIFETIME_SECONDS_MAX, now()),
      (error: { readonly code?: string }) => {
        if (TOKEN_FAULT.test(error.code ?? '')) throw tokenInvalid(error)
        throw new ToolrackError('KEYS_UNAVAILABLE', undefined, { cause: error })
      },
    )
  }
}
