import { ToolrackError } from '@toolrack/contract'
import { isErased, stateAt, type Approval } from './approval.ts'
import { isOfDefinition, unanswered, whyOther, type AskedCall } from './answers.ts'
import type { PlannedApprovals } from './approval-store.ts'

/**
 * The change with which a call takes an approval. An approval that is `approved` becomes `used`. A `pending` approval stays as it
 * is. An `always` or `session` stays too, if every rule that asks about the call is answered. Throws APPROVAL_NOT_FOUND,
 * APPROVAL_CONFLICT, APPROVAL_EXPIRED or APPROVAL_DENIED.
 */
export function plannedTake(
  known: readonly Approval[],
  id: string,
  call: AskedCall,
  invocationId: string,
  nowMs: number,
): PlannedApprovals<Approval> {
  const found = known.find((one) => one.id === id && !isErased(one, nowMs))
  if (!found) throw new ToolrackError('APPROVAL_NOT_FOUND')
  const state = stateAt(found, nowMs)
  // A store that does not know whether it has written repeats the plan. Then the approval was used by this call.
  if (state === 'used' && found.usedBy !== invocationId) throw new ToolrackError('APPROVAL_CONFLICT', USED)
  const other = whyOther(found, call)
  if (other) throw new ToolrackError('APPROVAL_CONFLICT', other)
  if (state === 'expired') throw new ToolrackError('APPROVAL_EXPIRED')
  if (state === 'denied') throw new ToolrackError('APPROVAL_DENIED')
  const isAnswer = state === 'always' || state === 'session'
  if (isAnswer && unanswered(known, call, nowMs))
    throw new ToolrackError('APPROVAL_CONFLICT', isOfDefinition(found, call) ? OTHER_RULE : ENDED)
  if (state === 'pending' || state === 'used' || isAnswer) return { result: found }
  const used: Approval = { ...found, state: 'used', usedBy: invocationId }
  return { result: used, change: { approvals: known.map((one) => (one.id === id ? used : one)) } }
}

const USED = 'The approval was used by another call; nothing was run. Make the call without it to ask again.'

const OTHER_RULE =
  'The approval answers a rule for always, and another rule asks about the call now, or the rule was written anew; nothing was run. Make the call without it to ask again.'

const ENDED =
  'The approval was an answer for always, which has ended because the definition of the tool was changed since; nothing was run. Make the call without it to ask again.'
