import { toolFailure } from '@toolrack/contract'
import { outcomeOf, type Authorised, type CallOutcome } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { deadlineOf, type RunParts } from '../../calls/pipeline/run-tool.ts'
import { FAILURES_MAX, type Circuits, type Refused } from './circuits.ts'
import { verdictOf } from './verdict.ts'

type Parts = Pick<RunParts, 'callLimits' | 'deadlineMsMax'> & {
  readonly circuits: Pick<Circuits, 'enter' | 'leave'>
}

/** Refuses a call of a tool whose circuit is open, and takes the ends of all other calls. */
export function breakCircuit({ circuits, callLimits, deadlineMsMax }: Parts): Step<Authorised> {
  return async (call, next) => {
    const { uid } = call.principal
    const { entry } = call
    const entered = circuits.enter(uid, entry)
    if ('for' in entered) return refusal(call, entered)
    const outcome = await next(call)
    // The limits of the call itself may be shorter.
    const deadlineMs = deadlineOf(entry.limits, deadlineMsMax, callLimits?.deadlineMs)
    circuits.leave(uid, entry, entered, verdictOf(outcome, deadlineMs))
    return outcome
  }
}

function refusal(call: Authorised, { for: whom, leftMs }: Refused): CallOutcome {
  const seconds = Math.max(1, Math.ceil(leftMs / 1_000))
  const failed = whom === 'you' ? `${FAILURES_MAX} times in a row` : 'for several users'
  const when = leftMs > 0 ? `is not called for another ${seconds} s` : 'is tried by one call now'
  const why = `${call.entry.name} has failed ${failed} by its own fault, so it ${when}`
  const error = `${why}; nothing was run. Call another tool, or try again later.`
  return { ...outcomeOf(call, toolFailure('TOOL_UNAVAILABLE', error)), retryAfterSeconds: seconds }
}
