import { isErased, isFor, isOfSession, type Approval, type BoundCall, type KeptRule } from './approval.ts'

/** A call with every rule that asks about it, at least one, and the workflow whose job token makes it. */
export type AskedCall = BoundCall & {
  readonly uid: string
  /** The mark of the definition, as in an approval. Undefined if nothing can be answered for always now. */
  readonly mark: string | undefined
  readonly asks: readonly KeptRule[]
  readonly workflow: string | null
}

/** The first rule that asks and is not answered, for always or for the session of the call. */
export function unanswered(known: readonly Approval[], call: AskedCall, nowMs: number): KeptRule | undefined {
  return call.asks.find((rule) => !answerTo(rule, known, call, nowMs))
}

/** The approval that answers a rule, for always or for the session of the call. */
function answerTo(
  { key }: KeptRule,
  known: readonly Approval[],
  call: Omit<AskedCall, 'asks'>,
  nowMs: number,
): Approval | undefined {
  return known.find((one) => one.asked.key === key && isOfDefinition(one, call) && isAnswer(one, call, nowMs))
}

/** The approval by which a call runs without a question: that of the first rule that asks, if every rule is answered. */
export function answerOf(known: readonly Approval[], call: AskedCall, nowMs: number): Approval | undefined {
  const [first] = call.asks
  return first && !unanswered(known, call, nowMs) ? answerTo(first, known, call, nowMs) : undefined
}

/** True if nobody has changed the definition since the approval was asked for. A change that was undone counts too. */
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
 * True if the approval was asked for by an equal call, so that a user need not decide twice. If the rule or the definition was
 * changed, it is another question, even if the change was undone: an answer for always would have ended already.
 */
export function isEqual(approval: Approval, call: AskedCall): boolean {
  const isSameRule = call.asks.some(({ key }) => key === approval.asked.key)
  const isSame = isFor(approval, call) && approval.workflow === call.workflow
  return isSame && isSameRule && approval.mark === call.mark
}

const OTHER_SESSION =
  'The approval is for a call through another session; nothing was run. Make the call without it to ask again.'

const OTHER_WORKFLOW =
  'The approval is for a call of another workflow; nothing was run. Make the call without it to ask again.'

/**
 * Why an approval is not that of the call; undefined if it is. The user may make the call of a workflow, because the workflow's job
 * token may have ended. Another workflow may not, because the user did not see it.
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
