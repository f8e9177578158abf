import type { Layer } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/**
 * What a principal may want to do. `read` covers the list, explain and definitions as they are, `read-versions` what
 * they were, `call` the tools that the list shows, `mint` a job token for one's own tools.
 */
export type Action =
  | { readonly verb: 'read' | 'call' | 'read-versions' | 'mint' }
  | { readonly verb: 'write'; readonly layer: Layer }

/** The answer to "may they?", with the reason that reaches the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** The one function that decides, for every verb and every route. What of a catalog is seen is the view's to say. */
export function decide(principal: Principal, action: Action): Decision {
  if (action.verb === 'read' || action.verb === 'call') return ALLOWED
  if (principal.grant) return deny(WHY_NOT_BY_JOB_TOKEN[action.verb])
  return action.verb === 'write' ? decideWrite(principal, action.layer) : decideOther(principal, action.verb)
}

function decideOther({ kind }: Principal, verb: 'read-versions' | 'mint'): Decision {
  return verb === 'mint' && kind !== 'user' ? deny('Only a user may mint job tokens, not a job.') : ALLOWED
}

function decideWrite({ isAdmin }: Principal, layer: Layer): Decision {
  if (layer === 'file')
    return deny('The file layer is changed by editing its files, not through the service.')
  if (layer === 'global' && !isAdmin) return deny('Only an admin may write the global layer.')
  return ALLOWED
}

const ALLOWED: Decision = { allowed: true }

const WHY_NOT_BY_JOB_TOKEN = {
  write: 'A job token never writes.',
  mint: 'A job token never mints another.',
  'read-versions': 'A job token reads what its tools are, not what they were.',
} as const

function deny(reason: string): Decision {
  return { allowed: false, reason }
}
