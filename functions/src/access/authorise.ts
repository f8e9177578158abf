import { ToolrackError } from '@toolrack/contract'
import { decide } from './decide.ts'
import type { Action } from './decide.ts'
import type { Principal } from './principal.ts'

/** Rejects with PERMISSION_DENIED and the decision's reason. */
export function authorise(principal: Principal, action: Action): void {
  const decision = decide(principal, action)
  if (!decision.allowed) throw new ToolrackError('PERMISSION_DENIED', decision.reason)
}
