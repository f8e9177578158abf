import { ToolrackError } from '@toolrack/contract'
import type { Action } from './action.ts'
import { decide } from './decide.ts'
import type { Principal } from './principal.ts'

/** Throws PERMISSION_DENIED with the decision's reason. */
export function authorise(principal: Principal, action: Action): void {
  const decision = decide(principal, action)
  if (!decision.allowed) throw new ToolrackError('PERMISSION_DENIED', decision.reason)
}
