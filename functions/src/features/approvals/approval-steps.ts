import { toolFailure, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { outcomeOf } from '../../calls/call.ts'
import type { AskingRule, Authorised, CallOutcome, Resolved } from '../../calls/call.ts'
import { canonicalArgumentsOf } from '../../calls/canonical-arguments.ts'
import { hasRunNothing } from '../../calls/nothing-run.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { Next, Step } from '../../calls/onion.ts'
import { isOperator } from '../rules/kept-rules.ts'
import { newMark } from '../rules/rule-marks.ts'
import { storedMark } from '../../catalog/views/stored-mark.ts'
import type { AskedCall } from './answers.ts'
import { argumentsHash, failureQuestion, keptRule, type Approval, type BoundCall } from './approval.ts'
import type { AskedFiles, FileMarks, FoundMarks } from './file-marks.ts'
import type { Approvals, ForeseenApproval } from './approvals.ts'

export type ApprovalStepParts = {
  /** Undefined where no rules exist, so that no rule can ask. */
  readonly approvals?: Approvals | undefined
  /** The marks of tools and rules that come from files. Undefined where nothing comes from files. */
  readonly fileMarks?: Pick<FileMarks, 'find' | 'make'> | undefined
}

/**
 * Replaces the arguments by the edited ones of the approval, if there are any. The inner steps check them like any other
 * arguments.
 */
export function takeEditedArguments({ approvals }: ApprovalStepParts): Step<Resolved> {
  return (call, next) =>
    approvals && call.request.approval !== undefined
      ? runEdited(approvals, call, call.request.approval, next)
      : next(call)
}

async function runEdited(
  approvals: Approvals,
  call: Resolved,
  id: string,
  next: Next<Resolved>,
): Promise<CallOutcome> {
  return next(await withEditedArguments(approvals, call, id))
}

/**
 * The call with the edited arguments of the approval. If a call with edited arguments has failed, and then it or its fallback has
 * asked for this approval, the earlier edited arguments replace those that were sent first. So the caller sends the same
 * arguments again, and only what the user has seen can run.
 */
async function withEditedArguments(approvals: Approvals, call: Resolved, id: string): Promise<Resolved> {
  const { uid } = call.principal
  const before = await approvals.editedBefore(uid, id, boundTo(call))
  const asked = before === undefined ? call : asRun(await withEditedArguments(approvals, call, before))
  const edited = await approvals.editedArguments(uid, id, boundTo(asked))
  if (!edited) return asked
  const { request } = asked
  const { arguments: askedArguments, sentArguments = askedArguments } = request
  const replaced = { arguments: canonicalArgumentsOf(call.entry, edited), askedArguments, sentArguments }
  return { ...asked, request: { ...request, ...replaced, editedIn: id } }
}

/** The call as an approval of its own is asked for it: with the arguments that run, and not with those that they have replaced. */
function asRun<Call extends Resolved>(call: Call): Call {
  const { askedArguments: _asked, ...request } = call.request
  return { ...call, request }
}

/**
 * If a rule asks about a call, runs the call only with an approval, and marks the approval as used. Approvals are asked for only
 * if the service itself runs the tool.
 */
export function awaitApproval(parts: ApprovalStepParts): Step<Authorised> {
  return (call, next) => {
    const { decision, entry, request } = call
    const isAsked = decision.effect === 'ask' && entry.callable === 'service'
    if (!isAsked && request.approval === undefined && decision.effect !== 'deny') return next(call)
    return ruled(parts, call, next)
  }
}

/**
 * Says what `awaitApproval` would do with a call that the service runs. This function itself neither asks for an approval nor
 * uses one up. Undefined if the call needs no approval and names none. Throws as `awaitApproval` does.
 */
export async function foreseeApproval(
  { approvals, fileMarks }: ApprovalStepParts,
  call: Authorised,
): Promise<ForeseenApproval | undefined> {
  const { decision, request } = call
  if (!approvals || (decision.effect !== 'ask' && request.approval === undefined)) return undefined
  const asked = await askedCall(call, (files) => fileMarks?.find(files))
  return approvals.foresee(asked, request.approval)
}

/**
 * Asks the user whether the tool of a failed call may be called again, in the same way as a rule asks. `reason` is shown to the
 * user. The approval is for the arguments with which the tool has run: if the user has edited them, not for those that were sent.
 * Undefined where no approvals are kept. Throws as `Approvals.ask` does.
 */
export async function askAboutFailure(
  { approvals, fileMarks }: ApprovalStepParts,
  call: Authorised,
  { code, reason }: { readonly code: ErrorCode; readonly reason: string },
): Promise<Approval | undefined> {
  if (!approvals) return undefined
  const asked = await askedCall(asRun(call), (files) => fileMarks?.make(files))
  const { entry, request, secrets } = call
  const marks = marksOf(entry.stored)
  const asks = [failureQuestion(code, reason)]
  return approvals.ask({ ...asked, asks, arguments: request.arguments, marks, stored: secrets?.stored })
}

async function ruled(
  { approvals, fileMarks }: ApprovalStepParts,
  call: Authorised,
  next: Next<Authorised>,
): Promise<CallOutcome> {
  const { decision, principal, request, entry, invocationId } = call
  // An earlier step has refused a denied call. The check is repeated here, so that no approval lifts a refusal if that step has a
  // mistake.
  if (decision.effect === 'deny') throw new ToolrackError('PERMISSION_DENIED', decision.reason)
  if (!approvals) throw new Error('a call waits for an approval, and approvals are not kept here')
  const { uid } = principal
  const asked = await askedCall(call, (files) => fileMarks?.make(files))
  if (request.approval === undefined) {
    const marks = marksOf(entry.stored)
    const found = await approvals.ask({
      ...asked,
      arguments: request.arguments,
      marks,
      stored: call.secrets?.stored,
    })
    return found?.state === 'pending' ? waiting(call, found) : next(answeredBy(call, found))
  }
  const approval = await approvals.take(request.approval, asked, invocationId)
  if (approval.state === 'pending') return waiting(call, approval)
  const outcome = await next(answeredBy(call, approval))
  if (hasRunNothing(outcome) && entry.callable === 'service')
    await approvals.giveBack(uid, approval.id, invocationId)
  return outcome
}

function answeredBy(call: Authorised, approval: Approval | undefined): Authorised {
  return approval ? { ...call, usedApproval: approval.id } : call
}

type MarksOf = (files: AskedFiles) => Promise<FoundMarks> | undefined

/** The call with the rules that ask about it. `asks` is empty if the call has an approval that it does not need. */
async function askedCall(call: Authorised, marksOf: MarksOf): Promise<AskedCall> {
  const { decision, entry, view, principal } = call
  const { uid, workflowId: workflow = null } = principal
  const asks = decision.effect === 'ask' ? (call.asks ?? [{ ...decision, says: decision.reason }]) : []
  const tool = entry.layer === 'file' ? entry : undefined
  const ofOperator = asks.filter(isOfOperator)
  const hasFiles = tool !== undefined || ofOperator.length > 0
  const found = hasFiles ? await marksOf({ tool, rules: ofOperator.map(({ says }) => says) }) : undefined
  const stored = storedMark(view, entry.name)
  const mark = tool && stored !== undefined ? found?.tool && `${stored} ${found.tool}` : stored
  const keys = asks.map((rule) => {
    if (!isOfOperator(rule)) return keptRule(rule)
    // A rule without a stored mark gets a new mark. So no answer for always counts for it.
    const ruleMark = found?.rules[ofOperator.indexOf(rule)] ?? newMark()
    return keptRule({ ...rule, says: `${ruleMark} ${rule.says}` })
  })
  return { ...boundTo(call), uid, mark, asks: keys, workflow, after: call.request.editedIn }
}

function isOfOperator({ owner }: AskingRule): boolean {
  return owner !== null && isOperator(owner)
}

/**
 * The facts of the call to which an approval is bound. The arguments are those for which it was asked, before the approval
 * has replaced them.
 */
function boundTo({ entry, request, session }: Resolved): BoundCall {
  const { name: tool, digest } = entry
  return {
    session: session ? { id: session.id, key: session.key } : null,
    tool,
    digest,
    argumentsHash: argumentsHash(request.askedArguments ?? request.arguments),
  }
}

function waiting(call: Authorised, { id, expiresAt, asked }: Approval): CallOutcome {
  const message = `${call.entry.name} waits for the approval of a user, until ${expiresAt}; nothing was run yet. ${asked.reason}`
  return { ...outcomeOf(call, toolFailure('APPROVAL_REQUIRED', message)), approval: { id, expiresAt } }
}
