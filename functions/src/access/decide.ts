import type { Layer } from '@toolrack/contract'
import type { Action } from './action.ts'
import type { Principal } from './principal.ts'

/** The answer to "may they?", with the reason that reaches the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** Decides for every verb and every route. Which tools of a catalog are seen and called, `maySee` decides. */
export function decide(principal: Principal, action: Action): Decision {
  if (action.verb === 'read' || action.verb === 'call') return ALLOWED
  if (principal.grant) return deny(WHY_NOT_BY_JOB_TOKEN[action.verb])
  if (action.verb === 'write') return decideWrite(principal, action.layer)
  if (action.verb === 'read-modules') return decideReadModules(principal, action.layer)
  return decideOther(principal, action.verb)
}

function decideOther({ kind, isAdmin }: Principal, verb: 'read-versions' | 'refresh' | 'mint'): Decision {
  if (verb === 'read-versions') return ALLOWED
  if (verb === 'refresh')
    return isAdmin ? ALLOWED : deny('Only an admin may have the folder of modules read anew.')
  // A new verb does not compile until it has its own decision above.
  verb satisfies 'mint'
  return kind === 'user' ? ALLOWED : deny('Only a user may mint job tokens, not a job.')
}

function decideWrite({ isAdmin }: Principal, layer: Layer): Decision {
  if (layer === 'file')
    return deny('The file layer is changed by editing its files, not through the service.')
  if (layer === 'global' && !isAdmin) return deny('Only an admin may write the global layer.')
  return ALLOWED
}

/** A definition tells everybody what a tool takes; its source may hold what only its author should see. */
function decideReadModules({ isAdmin }: Principal, layer: Layer): Decision {
  return layer === 'user' || isAdmin
    ? ALLOWED
    : deny('Only an admin may read the modules of the global layer.')
}

const ALLOWED: Decision = { allowed: true }

const WHY_NOT_BY_JOB_TOKEN = {
  write: 'A job token never writes.',
  refresh: 'A job token has nothing read anew.',
  mint: 'A job token never mints another.',
  'read-modules': 'A job token reads what its tools are, not their source.',
  'read-versions': 'A job token reads what its tools are, not what they were.',
} as const

function deny(reason: string): Decision {
  return { allowed: false, reason }
}
