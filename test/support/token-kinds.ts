import type { Authentication } from '../../functions/src/hosts/authentication.ts'
import { firebaseAccess } from '../../functions/src/hosts/authentication.ts'
import { ecKey, jobKeysOf, NOW_SECONDS, publicJwk, rsaKey } from './signed-tokens.ts'
import type { TokenKind } from './signed-tokens.ts'

export const PROJECT = 'demo-toolrack'
export const AUDIENCE = 'https://toolrack.example/jobs'
export const ACCOUNT = 'flows@demo-toolrack.iam.gserviceaccount.com'
export const DIGEST = `sha256:${'a'.repeat(64)}` as const

const userKey = rsaKey('users-1')
const accountKey = rsaKey('accounts-1')
export const jobKey = ecKey('jobs-1')
export const oldJobKey = ecKey('jobs-0')

const times = { iat: NOW_SECONDS - 60, exp: NOW_SECONDS + 240 }

export const FIREBASE: TokenKind = {
  name: 'Firebase',
  family: 'workflows',
  key: userKey,
  typ: 'JWT',
  lifetimeSecondsMax: 3_600,
  claims: {
    iss: `https://securetoken.google.com/${PROJECT}`,
    aud: PROJECT,
    sub: 'ann',
    user_id: 'ann',
    auth_time: NOW_SECONDS - 600,
    ...times,
  },
}

export const OIDC: TokenKind = {
  name: 'OIDC',
  family: 'jobs',
  key: accountKey,
  typ: 'JWT',
  lifetimeSecondsMax: 3_600,
  claims: {
    iss: 'https://accounts.google.com',
    aud: AUDIENCE,
    sub: '1234567890',
    email: ACCOUNT,
    email_verified: true,
    ...times,
  },
}

export const JOB: TokenKind = {
  name: 'job',
  family: 'jobs',
  key: jobKey,
  typ: 'job+jwt',
  lifetimeSecondsMax: 600,
  claims: {
    iss: 'toolrack',
    aud: 'toolrack-jobs',
    sub: 'wf:nightly',
    uid: 'ann',
    tools: [{ name: 'READ_FILE', digest: DIGEST }],
    jti: '1',
    nbf: times.iat,
    ...times,
  },
}

export const KINDS = [FIREBASE, OIDC, JOB]

/** The access of a deployed service, with the keys of this file instead of Google's. */
export function deployedAccess(now: () => number): Authentication {
  return firebaseAccess(
    {
      kind: 'firebase',
      projectId: PROJECT,
      emulator: false,
      jobAccounts: [ACCOUNT],
      jobAudiences: [AUDIENCE],
    },
    jobKeysOf(jobKey, oldJobKey),
    now,
    { users: { keys: [publicJwk(userKey)] }, accounts: { keys: [publicJwk(accountKey)] } },
  )
}
