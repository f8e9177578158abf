import type { VerifyToken } from '../../access/claims.ts'
import { GOOGLE_LIFETIME_SECONDS_MAX } from '../../access/firebase-user.ts'
import { jwtVerifier } from './jwt-verifier.ts'
import type { KeySource } from './key-source.ts'

/** Where Google publishes the keys of Firebase ID tokens and of OIDC tokens. */
const FIREBASE_KEYS = {
  url: 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
}
const ACCOUNT_KEYS = { url: 'https://www.googleapis.com/oauth2/v3/certs' }

/** Google writes `typ: JWT` and does not promise to. */
const GOOGLE = {
  algorithm: 'RS256',
  types: ['JWT', undefined],
  lifetimeSecondsMax: GOOGLE_LIFETIME_SECONDS_MAX,
} as const

/** Verifies the ID tokens of a Firebase project's users. */
export function firebaseTokens(
  projectId: string,
  now: () => number,
  keys: KeySource = FIREBASE_KEYS,
): VerifyToken {
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
