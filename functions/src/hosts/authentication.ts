import { tokenInvalid } from '../access/authenticate.ts'
import { firebaseUser, serviceAccount } from '../access/claims.ts'
import { identifyBy, identifyByType, tokenAuthentication } from '../access/token-authentication.ts'
import type { Identify } from '../access/token-authentication.ts'
import type { JobKeys } from '../access/job-keys.ts'
import { JOB_TOKEN, tokenJob } from '../access/job-token.ts'
import { localAuthentication } from '../access/local-token.ts'
import { localUsersAuthentication, type LocalUserMap } from '../access/local-users.ts'
import type { Config, FirebaseAuth } from './config.ts'
import { emulatorTokens } from '../platform/firebase-auth/emulator-tokens.ts'
import { accountTokens, firebaseTokens, type KeySource } from '../platform/jose/jwt-verifier.ts'
import { jobTokens, jobTokenSigner } from '../platform/jose/job-tokens.ts'

/** Authenticates the senders of requests, and signs job tokens. A server without job keys signs no tokens. */
export type Authentication = ReturnType<typeof localAccess>

/** The authentication that the configuration chooses. Only the embedded server has a `localToken`. */
export function authenticationOf(
  { auth, jobKeys }: Pick<Config, 'auth' | 'jobKeys'>,
  localToken?: string,
  approverToken?: string,
  users?: () => LocalUserMap,
) {
  if (users) return usersAccess(users, jobKeys)
  if (auth.kind === 'firebase') return firebaseAccess(auth, jobKeys)
  if (localToken === undefined) throw new Error('only the embedded server has a local token')
  return localAccess(localToken, jobKeys, Date.now, approverToken)
}

/** `TOOLRACK_AUTH=local`: all routes accept the token of the embedded server. The routes of `/jobs` also accept job tokens. */
export function localAccess(
  token: string,
  jobKeys: JobKeys | undefined,
  now = Date.now,
  approverToken?: string,
) {
  const others = tokenAuthentication({ jobs: identifyJobToken(jobKeys, now) }, now)
  return {
    authenticate: localAuthentication(token, others, approverToken),
    signJobToken: jobKeys && jobTokenSigner(jobKeys),
  }
}

/** Authentication for several users of one embedded server. The routes of `/jobs` accept only job tokens. */
function usersAccess(users: () => LocalUserMap, jobKeys: JobKeys | undefined): Authentication {
  const others = tokenAuthentication({ jobs: identifyJobToken(jobKeys, Date.now) }, Date.now)
  return {
    authenticate: localUsersAuthentication(users, others),
    signJobToken: jobKeys && jobTokenSigner(jobKeys),
  }
}

/**
 * `TOOLRACK_AUTH=firebase`: users send ID tokens, and jobs send OIDC tokens or job tokens. Tests replace Google's keys by `keys`.
 */
export function firebaseAccess(
  { projectId, emulator, jobAccounts, jobAudiences }: FirebaseAuth,
  jobKeys: JobKeys | undefined,
  now = Date.now,
  keys: { readonly users?: KeySource; readonly accounts?: KeySource } = {},
): Authentication {
  const users = emulator ? emulatorTokens(projectId, now) : firebaseTokens(projectId, now, keys.users)
  const accounts = identifyBy(accountTokens(jobAudiences, now, keys.accounts), (claims) =>
    serviceAccount(claims, jobAccounts),
  )
  const jobs = identifyByType(
    JOB_TOKEN.typ,
    identifyJobToken(jobKeys, now) ?? refuse,
    jobAudiences.length > 0 ? accounts : refuse,
  )
  const workflows = identifyBy(users, (claims) => firebaseUser(claims, now()))
  return {
    authenticate: tokenAuthentication({ workflows, jobs }, now),
    signJobToken: jobKeys && jobTokenSigner(jobKeys),
  }
}

function identifyJobToken(jobKeys: JobKeys | undefined, now: () => number): Identify | undefined {
  return jobKeys && identifyBy(jobTokens(jobKeys, now), tokenJob)
}

const refuse: Identify = () => Promise.reject(tokenInvalid())
