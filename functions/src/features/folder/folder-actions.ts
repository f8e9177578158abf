import { ALLOWED, deny, type Action } from '../../access/action.ts'

/** Reads the folder of modules again. */
export const REFRESH: Action = {
  verb: 'refresh',
  decide({ grant, isAdmin }) {
    if (grant) return deny('A job token may not refresh the folder of modules.')
    return isAdmin ? ALLOWED : deny('Only an admin may refresh the folder of modules.')
  },
}
