import { ALLOWED, deny, GOVERN, type Action } from '../../access/action.ts'
import type { LimitOwner } from './owner-limits.ts'

/** The action of reading the limits of an owner: a user's own, or, for admins, those of everybody. */
export function readLimits({ kind, id }: LimitOwner): Action {
  return {
    verb: 'read-limits',
    decide({ grant, isAdmin, uid }) {
      if (grant) return deny('A job token may not read limits.')
      if (isAdmin || (kind === 'user' && id === uid)) return ALLOWED
      return deny('Only an admin may read the limits of others and of workflows.')
    },
  }
}

/** The action of writing limits. Nobody may raise their own, so this is for admins, and the token must be one that may approve. */
export const WRITE_LIMITS: Action = {
  verb: 'write-limits',
  decide(principal) {
    const governs = GOVERN.decide(principal)
    if (!governs.allowed) return governs
    return principal.isAdmin ? ALLOWED : deny('Only an admin may write limits.')
  },
}
