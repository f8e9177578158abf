import type { Layer } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/**
 * What a principal may want to do. `read` covers the list, explain and definitions as they are, `read-versions` what
 * they were, `read-modules` the sources that some come from, `refresh` a new look at the folder of modules, `call` the tools that the
 * list shows, `mint` a job token for one's own tools.
 */
export type Action =
  | { readonly verb: 'read' | 'call' | 'read-versions' | 'refresh' | 'mint' }
  | { readonly verb: 'write' | 'read-modules'; readonly layer: Layer }

/** The answer to "may they?", with the reason that reaches the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** The one function that decides, for every verb and every route. What of a catalog is seen is the view's to say. */
export function decide(principal: Principal, action: Action): Decision {
  if (action.verb === 'read' || action.verb === 'call') return ALLOWED
  if (principal.grant) return deny(WHY_NOT_BY_JOB_TOKEN[action.verb])
  if (action.verb === 'write') return decideWrite(principal, action.layer)
  if (action.verb === 'read-modules') return decideReadModules(principal, action.layer)
  return decideOther(principal, action.verb)
}

function decideOther({ kind, isAdmin }: Principal, verb: 'read-versions' | 'refresh' | 'mint'): Decision {
  if (verb === 'refresh' && !isAdmin) return deny('Only an admin may have the folder of modules read anew.')
  return verb === 'mint' && kind !== 'user' ? deny('Only a user may mint job tokens, not a job.') : ALLOWED
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
