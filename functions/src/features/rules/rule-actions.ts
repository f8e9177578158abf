import type { RuleOwner } from '@toolrack/contract'
import { ALLOWED, deny, NOT_AN_APPROVER, type Action } from '../../access/action.ts'

/** The kinds of owners that belong to the user who writes their rules. These rules apply only to this user's calls. */
const OWN_KINDS = new Set<RuleOwner['kind']>(['workflow', 'session', 'agent'])

const WHY_NOT_BY_JOB_TOKEN = {
  rules: 'A job token may not read rules.',
  'write-rules': 'A job token may not write rules.',
} as const

/** The action of reading or writing the rules of an owner. To write rules, the token must be one that may approve. */
export function onRules(
  verb: keyof typeof WHY_NOT_BY_JOB_TOKEN,
  owner: RuleOwner['kind'],
  id: string,
): Action {
  return {
    verb,
    decide({ grant, kind, uid, isAdmin, mayApprove }) {
      if (grant) return deny(WHY_NOT_BY_JOB_TOKEN[verb])
      if (kind !== 'user') return deny('Only a user may read and write rules, not a job.')
      if (verb === 'write-rules' && !mayApprove) return deny(NOT_AN_APPROVER)
      if (isAdmin || OWN_KINDS.has(owner) || (owner === 'user' && id === uid)) return ALLOWED
      const whose = owner === 'everybody' ? 'for everybody' : 'of another user'
      return deny(`Only an admin may read and write the rules ${whose}.`)
    },
  }
}
