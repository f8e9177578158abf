import { isErased, isFor, isOfSession, type Approval, type BoundCall, type KeptRule } from './approval.ts'

/**
 * A call with all rules that ask about it, and the workflow whose job token makes it. `asks` is empty if the call has an approval
 * that it does not need.
 */
export type AskedCall = BoundCall & {
  readonly uid: string
  /**
   * The `mark` of the called definition, as in an `Approval`. Undefined if no `always` or `session` can be valid for the
   * definition now.
   */
  readonly mark: string | undefined
  readonly asks: readonly KeptRule[]
  readonly workflow: string | null
  /** The approval whose edited arguments the call has. */
  readonly after?: string | undefined
}

/**
 * The first of the asking rules that is not answered: neither an `always` nor a `session` for the session of the call answers it.
 * Undefined if all rules are answered.
 */
export function unanswered(known: readonly Approval[], call: AskedCall, nowMs: number): KeptRule | undefined {
  return call.asks.find((rule) => !answerTo(rule, known, call, nowMs))
}

/** The approval that answers a rule: an `always`, or a `session` for the session of the call. */
function answerTo(
  { key }: KeptRule,
  known: readonly Approval[],
  call: Omit<AskedCall, 'asks'>,
  nowMs: number,
): Approval | undefined {
  return known.find((one) => one.asked.key === key && isOfDefinition(one, call) && isAnswer(one, call, nowMs))
}

/**
 * The approval that lets a call run without a new question. If all asking rules are answered, it is the answer to the first of
 * them.
 */
export function answerOf(known: readonly Approval[], call: AskedCall, nowMs: number): Approval | undefined {
  const [first] = call.asks
  return first && !unanswered(known, call, nowMs) ? answerTo(first, known, call, nowMs) : undefined
}

/** True if nobody has changed the definition since the approval was asked for. A change that was undone counts as a change. */
export function isOfDefinition(
  { tool, digest, mark }: Approval,
  call: Pick<AskedCall, 'tool' | 'digest' | 'mark'>,
): boolean {
  return mark !== undefined && mark === call.mark && tool === call.tool && digest === call.digest
}

function isAnswer(approval: Approval, call: Pick<BoundCall, 'session'>, nowMs: number): boolean {
  const { state } = approval
  return (
    state === 'always' || (state === 'session' && isOfSession(approval, call) && !isErased(approval, nowMs))
  )
}

/**
 * True if an equal call has asked for the approval. Then the user need not decide twice. After a change of the rule or of the
 * definition, the calls are not equal, even if the change was undone.
 */
export function isEqual(approval: Approval, call: AskedCall): boolean {
  const isSameRule = call.asks.some(({ key }) => key === approval.asked.key)
  const isSame = isFor(approval, call) && approval.workflow === call.workflow
  return isSame && isSameRule && approval.mark === call.mark && approval.after === call.after
}

const OTHER_SESSION =
  'The approval is for a call through another session; nothing was run. Make the call without it to ask again.'

const OTHER_WORKFLOW =
  'The approval is for a call of another workflow; nothing was run. Make the call without it to ask again.'

/**
 * Says why an approval is not for the call; undefined if it is for the call. The user may make the call of a workflow, because
 * the workflow's job token may have ended. Another workflow may not make it, because the user did not see that workflow.
 */
export function whyOther(approval: Approval, call: Omit<AskedCall, 'asks'>): string | undefined {
  const { workflow } = approval
  const isOther = workflow !== null && call.workflow !== null && workflow !== call.workflow
  if (isFor(approval, call)) return isOther ? OTHER_WORKFLOW : undefined
  if (approval.tool !== call.tool) return `The approval is for the tool ${approval.tool}; nothing was run.`
  if (approval.digest !== call.digest)
    return `${call.tool} has changed since the approval was asked for; nothing was run. Make the call without it to ask again.`
  if (!isOfSession(approval, call)) return OTHER_SESSION
  return 'The approval is for other arguments; nothing was run. Send the arguments for which it was asked.'
}
