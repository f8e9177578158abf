import type { Authorised } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { inTime } from './call-after-failure.ts'
import { FailedCall, type FailureParts } from './failed-call.ts'

/**
 * Does what the definition of a tool says in `onFailure` when a call of it has failed. Each retry and each fallback is a call of
 * the whole pipeline, made for the same caller, through the same session, and with this call as its parent. So all rules, limits,
 * approvals and records hold for it as if the caller had made it.
 */
export function followStrategy(parts: FailureParts): Step<Authorised> {
  return (call, next) => {
    const { entry, following } = call
    // A retry is only a run. The call that makes it follows the strategy.
    if (!entry.onFailure || following?.as === 'retry') return next(following ? inTime(call, parts) : call)
    return new FailedCall(parts, call, entry.onFailure).run(next)
  }
}
