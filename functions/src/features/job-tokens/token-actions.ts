import { byUsersOnly } from '../../access/action.ts'

/** Makes a job token for tools of the principal's user. */
export const MINT = byUsersOnly('mint', {
  jobToken: 'A job token never mints another.',
  job: 'Only a user may mint job tokens, not a job.',
})
