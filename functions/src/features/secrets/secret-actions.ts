import { ALLOWED, byUsersOnly, deny, NOT_AN_APPROVER, type Action } from '../../access/action.ts'
import type { SecretLayer } from './secret.ts'

const JOB_TOKEN = 'A job token has nothing to do with stored secrets.'
const JOB = 'Only a user may store, list or delete secrets, not a job.'
const NOT_AN_ADMIN = 'Only an admin may list or change global secrets.'

const READ = byUsersOnly('read-secrets', { jobToken: JOB_TOKEN, job: JOB })

/** The action of reading the names of secrets. Nobody can read their values. */
export function readSecrets(layer: SecretLayer): Action {
  if (layer === 'user') return READ
  return {
    verb: 'read-global-secrets',
    decide(principal) {
      const decision = READ.decide(principal)
      return decision.allowed && !principal.isAdmin ? deny(NOT_AN_ADMIN) : decision
    },
  }
}

/** The action of storing and deleting secrets, and of consenting to their use. It needs a token that may approve. */
export function governSecrets(layer: SecretLayer): Action {
  return {
    verb: layer === 'user' ? 'govern-secrets' : 'govern-global-secrets',
    decide(principal) {
      const decision = readSecrets(layer).decide(principal)
      if (!decision.allowed) return decision
      return principal.mayApprove ? ALLOWED : deny(NOT_AN_APPROVER)
    },
  }
}
