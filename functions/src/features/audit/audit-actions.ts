import { ALLOWED, deny, NOT_AN_APPROVER, type Action } from '../../access/action.ts'

const NO_JOB = 'Only a user may read the audit trail, not a job.'

/**
 * The action of reading the audit records of the user `uid`. Without `uid`, of reading the records of all users whom the
 * principal may see.
 */
export function readAudit(uid: string | undefined): Action {
  return {
    verb: 'read-audit',
    decide(principal) {
      if (principal.grant) return deny('A job token cannot read the audit trail.')
      if (principal.kind !== 'user') return deny(NO_JOB)
      if (principal.isAdmin || uid === undefined || uid === principal.uid) return ALLOWED
      return deny("Only an admin may read others' records.")
    },
  }
}

const ADMINS_ONLY = 'Only an admin may verify or erase the audit trail.'

/** Verifies the records of all users. */
export const VERIFY_AUDIT: Action = {
  verb: 'verify-audit',
  decide({ grant, kind, isAdmin }) {
    if (grant) return deny('A job token cannot verify the audit trail.')
    if (kind !== 'user') return deny(NO_JOB)
    return isAdmin ? ALLOWED : deny(ADMINS_ONLY)
  },
}

/** Erases the records of one user. */
export const ERASE_AUDIT: Action = {
  verb: 'erase-audit',
  decide({ grant, kind, isAdmin, mayApprove }) {
    if (grant) return deny('A job token never erases anything.')
    if (kind !== 'user') return deny(NO_JOB)
    if (!isAdmin) return deny(ADMINS_ONLY)
    // The token that models get must not erase records, because they say what the models did.
    return mayApprove ? ALLOWED : deny(NOT_AN_APPROVER)
  },
}
