import { ALLOWED, byUsersOnly, deny, NOT_AN_APPROVER, type Action } from '../../access/action.ts'

export const READ_APPROVALS = byUsersOnly('read-approvals', {
  jobToken: 'A job token never reads approvals.',
  job: 'Only a user may read approvals, not a job.',
})

/** The action of deciding approvals and writing rules. It needs a token that may approve. */
export const GOVERN: Action = {
  verb: 'govern',
  decide({ grant, kind, mayApprove }) {
    if (grant) return deny('A job token never decides approvals and never writes rules.')
    if (kind !== 'user') return deny('Only a user may decide approvals or write rules, not a job.')
    return mayApprove ? ALLOWED : deny(NOT_AN_APPROVER)
  },
}
