import { byUsersOnly } from '../../access/action.ts'

/** The action of making a job token for tools of one's own catalog. */
export const MINT = byUsersOnly('mint', {
  jobToken: 'A job token never mints another.',
  job: 'Only a user may mint job tokens, not a job.',
})
