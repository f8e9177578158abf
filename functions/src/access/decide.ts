import { ToolrackError } from '@toolrack/contract'
import type { Action, Decision } from './action.ts'
import type { Principal } from './principal.ts'

/**
 * Decides whether a principal may do an action. Which tools of the catalog the principal may see and call is decided by `maySee`.
 */
export function decide(principal: Principal, action: Action): Decision {
  return action.decide(principal)
}

/** Throws PERMISSION_DENIED with the reason if the principal may not do the action. */
export function authorise(principal: Principal, action: Action): void {
  const decision = decide(principal, action)
  if (!decision.allowed) throw new ToolrackError('PERMISSION_DENIED', decision.reason)
}
