import { toolFailure, ToolrackError } from '@toolrack/contract'
import { outcomeOf, type Authorised, type CallOutcome, type Resolved } from '../pipeline/call.ts'
import { canonicalArgumentsOf } from '../pipeline/canonical-arguments.ts'
import { hasRunNothing } from '../pipeline/nothing-run.ts'
import { marksOf } from '../audit/sensitive.ts'
import type { Next, Step } from '../pipeline/onion.ts'
import { argumentsHash, keptRule, type Approval, type BoundCall, type KeptRule } from './approval.ts'
import type { Approvals } from './approvals.ts'

export type ApprovalStepParts = {
  /** Undefined where no rules exist. Then no rule can ask. */
  readonly approvals?: Approvals | undefined
}

/** Replaces the arguments by those of the approval, if it has others. The inner steps authorise and validate them like any others. */
export function takeEditedArguments({ approvals }: ApprovalStepParts): Step<Resolved> {
  return (call, next) =>
    approvals && call.request.approval !== undefined
      ? withEditedArguments(approvals, call, call.request.approval, next)
      : next(call)
}

async function withEditedArguments(
  approvals: Approvals,
  call: Resolved,
  id: string,
  next: Next<Resolved>,
): Promise<CallOutcome> {
  const { request, principal } = call
  const edited = await approvals.editedArguments(principal.uid, id, boundTo(call))
  if (!edited) return next(call)
  const args = canonicalArgumentsOf(call.entry, edited)
  return next({ ...call, request: { ...request, arguments: args, sentArguments: request.arguments } })
}

/** Runs a call that a rule asks about only with an approval, which it uses up. The service asks only for tools that it runs itself. */
export function awaitApproval(parts: ApprovalStepParts): Step<Authorised> {
  return (call, next) => {
    const { decision, entry, request } = call
    const isAsked = decision.effect === 'ask' && entry.callable === 'service'
    if (!isAsked && request.approval === undefined && decision.effect !== 'deny') return next(call)
    return ruled(parts, call, next)
  }
}

async function ruled(
  { approvals }: ApprovalStepParts,
  call: Authorised,
  next: Next<Authorised>,
): Promise<CallOutcome> {
  const { decision, principal, request, entry, invocationId } = call
  // The rules refuse such a call further out. An approval must not lift a refusal if that step has a mistake.
  if (decision.effect === 'deny') throw new ToolrackError('PERMISSION_DENIED', decision.reason)
  if (!approvals) throw new Error('a call waits for an approval, and approvals are not kept here')
  const { uid, workflowId: workflow = null } = principal
  const asks = asksOf(call)
  if (request.approval === undefined) {
    const { arguments: args } = request
    const marks = marksOf(entry.stored)
    const pending = await approvals.ask({ ...boundTo(call), uid, arguments: args, marks, asks, workflow })
    return pending ? waiting(call, pending) : next(call)
  }
  const asked = { ...boundTo(call), uid, asks, workflow }
  const approval = await approvals.take(request.approval, asked, invocationId)
  if (approval.state === 'pending') return waiting(call, approval)
  const outcome = await next(call)
  if (hasRunNothing(outcome) && entry.callable === 'service')
    await approvals.giveBack(uid, approval.id, invocationId)
  return outcome
}

/** The rules that ask about the call. There are none if it has an approval that it does not need. */
function asksOf({ decision, asks }: Authorised): readonly KeptRule[] {
  if (decision.effect !== 'ask') return []
  return (asks ?? [{ ...decision, says: decision.reason }]).map(keptRule)
}

/** The call as it was sent: its tool, and the arguments before the approval has replaced them. */
function boundTo({ entry, request, session }: Resolved): BoundCall {
  const { name: tool, digest } = entry
  return {
    session: session ? { id: session.id, key: session.key } : null,
    tool,
    digest,
    argumentsHash: argumentsHash(request.sentArguments ?? request.arguments),
  }
}

function waiting(call: Authorised, { id, expiresAt, asked }: Approval): CallOutcome {
  const message = `${call.entry.name} waits for the approval of a user, until ${expiresAt}; nothing was run yet. ${asked.reason}`
  return { ...outcomeOf(call, toolFailure('APPROVAL_REQUIRED', message)), approval: { id, expiresAt } }
}
