import type { Layer } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/** What a principal may want to do. Reading covers the list, explain, single definitions and their versions. */
export type Action = { readonly verb: 'read' } | { readonly verb: 'write'; readonly layer: Layer }

/** The answer to "may they?", with the reason that reaches the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** The one function that decides, for every verb and every route. */
export function decide(principal: Principal, action: Action): Decision {
  if (action.verb === 'read') return ALLOWED
  if (action.layer === 'file')
    return deny('The file layer is changed by editing its files, not through the service.')
  if (action.layer === 'global' && !principal.isAdmin)
    return deny('Only an admin may write the global layer.')
  return ALLOWED
}

const ALLOWED: Decision = { allowed: true }

function deny(reason: string): Decision {
  return { allowed: false, reason }
}
