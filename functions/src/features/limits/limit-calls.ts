import { toolFailure } from '@toolrack/contract'
import { outcomeOf, type Authorised, type CallOutcome } from '../../calls/call.ts'
import type { Next, Step } from '../../calls/onion.ts'
import { limitsOfCall, type AppliedLimits } from './applied-limits.ts'
import type { CallLimits } from '../../call-limits.ts'
import type { CallLimiter, Entered } from './call-limiter.ts'
import type { OwnerLimits } from './owner-limits.ts'

export type LimitStepParts = {
  readonly callLimiter: CallLimiter
  readonly ownerLimits: Pick<OwnerLimits, 'of'>
  readonly usualLimits: CallLimits
}

/**
 * Refuses a call that is above a limit. A dry run passes and counts nothing. A call that waits for an approval, or is answered
 * with a kept result, counts like any other. This is not an async function, so that a call without a limit costs nothing.
 */
export function limitCalls({
  callLimiter,
  ownerLimits: owners,
  usualLimits: usual,
}: LimitStepParts): Step<Authorised> {
  function enter(call: Authorised, next: Next<Authorised>, applied: AppliedLimits): Promise<CallOutcome> {
    if (applied.rates.length === 0 && applied.atOnce.length === 0) return next(call)
    const { invocationId, parentInvocationId, principal } = call
    const entered = callLimiter.enter({ uid: principal.uid, invocationId, parentInvocationId }, applied)
    return entered instanceof Promise
      ? entered.then((later) => run(call, next, later))
      : run(call, next, entered)
  }
  return (call, next) => {
    if (call.isDryRun) return next(call)
    const applied = limitsOfCall(call, { owners, usual })
    return applied instanceof Promise
      ? applied.then((later) => enter(call, next, later))
      : enter(call, next, applied)
  }
}

async function run(call: Authorised, next: Next<Authorised>, entered: Entered): Promise<CallOutcome> {
  try {
    call.tellLimits?.(entered.states)
    if (!('refusal' in entered)) return await next(call)
    const { refusal, retryAfterSeconds } = entered
    return { ...outcomeOf(call, toolFailure('LIMIT_EXCEEDED', refusal)), retryAfterSeconds }
  } finally {
    if ('leave' in entered) entered.leave()
  }
}
