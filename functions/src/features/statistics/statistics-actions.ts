import { ALLOWED, deny, type Action } from '../../access/action.ts'

/**
 * The action of reading the statistics of the user `uid`. Without `uid`, of reading one's own, or those of all users for an
 * admin.
 */
export function readStatistics(uid: string | undefined): Action {
  return {
    verb: 'read-statistics',
    decide(principal) {
      // They would name tools that the token does not.
      if (principal.grant) return deny('A job token cannot read statistics.')
      if (principal.isAdmin || uid === undefined || uid === principal.uid) return ALLOWED
      return deny("Only an admin may read others' statistics.")
    },
  }
}
