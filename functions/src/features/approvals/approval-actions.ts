import { byUsersOnly } from '../../access/action.ts'

export const READ_APPROVALS = byUsersOnly('read-approvals', {
  jobToken: 'A job token never reads approvals.',
  job: 'Only a user may read approvals, not a job.',
})
