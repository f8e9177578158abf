import { byUsersOnly } from '../../access/action.ts'

/** A job token for the principal's own tools. */
export const MINT = byUsersOnly('mint', {
  jobToken: 'A job token never mints another.',
  job: 'Only a user may mint job tokens, not a job.',
})
