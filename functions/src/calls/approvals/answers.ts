import { isErased, isFor, isOfSession, type Approval, type BoundCall, type KeptRule } from './approval.ts'

/** A call with every rule that asks about it, at least one. */
export type AskedCall = BoundCall & { readonly uid: string; readonly asks: readonly KeptRule[] }

/** The first rule that asks and is not answered, for always or for the session of the call. */
export function unanswered(known: readonly Approval[], call: AskedCall, nowMs: number): KeptRule | undefined {
  const { tool, digest, asks } = call
  const answers = known.filter(
    (one) => one.tool === tool && one.digest === digest && isAnswerTo(one, call, nowMs),
  )
  const answered = new Set(answers.map(({ asked }) => asked.key))
  return asks.find(({ key }) => !answered.has(key))
}

function isAnswerTo(approval: Approval, call: AskedCall, nowMs: number): boolean {
  const { state } = approval
  return (
    state === 'always' || (state === 'session' && isOfSession(approval, call) && !isErased(approval, nowMs))
  )
}

const OTHER_SESSION =
  'The approval is for a call through another session; nothing was run. Make the call without it to ask again.'

/** Why an approval is not that of the call; undefined if it is. */
export function whyOther(approval: Approval, call: BoundCall): string | undefined {
  if (isFor(approval, call)) return undefined
  if (approval.tool !== call.tool) return `The approval is for the tool ${approval.tool}; nothing was run.`
  if (approval.digest !== call.digest)
    return `${call.tool} has changed since the approval was asked for; nothing was run. Make the call without it to ask again.`
  if (!isOfSession(approval, call)) return OTHER_SESSION
  return 'The approval is for other arguments; nothing was run. Send the arguments for which it was asked.'
}
