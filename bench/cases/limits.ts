import { toolResult } from '@toolrack/contract'
import { outcomeOf, type Authorised } from '../../functions/src/calls/call.ts'
import { CallLimiter } from '../../functions/src/features/limits/call-limiter.ts'
import { limitCalls } from '../../functions/src/features/limits/limit-calls.ts'
import type { CallLimits } from '../../functions/src/call-limits.ts'
import { resolvedCall } from '../../test/support/call-stages.ts'
import { tool } from '../../test/support/definition-changes.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'

/** The calls of one measurement, and how many measurements the median is of. */
const CALLS = 20_000
const TIMES = 15
/** What limits may add to a warm call, in microseconds. The circuit and the statistics have a share of the 50 too. */
const US_MAX = 20

const NO_STEP = 'without the step'
const NO_LIMITS = 'no limits'
const OF_ALL = 'limits of a user and a tool'

/** Measures what the step `limit the calls` adds to a call in the memory of one process. */
export async function limits(_folder: string, { rounds: count }: Effort): Promise<Measured> {
  const rounds: Round[] = []
  while (rounds.length < count) {
    const bare = await microseconds(undefined, {})
    rounds.push({
      [NO_STEP]: { us: bare },
      [NO_LIMITS]: { us: (await microseconds({}, {})) - bare },
      [OF_ALL]: { us: (await microseconds(MANY, MANY)) - bare },
    })
  }
  const row = { what: 'what the step adds to a call', metric: 'us', unit: 'µs' } as const
  return {
    rounds,
    comparisons: [NO_LIMITS, OF_ALL].map((ours) => ({ ...row, ours, goal: { atMost: US_MAX } })),
    sharesCores: true,
  }
}

const MANY: CallLimits = { callsPerMinute: 100_000, concurrent: 1_000 }

/** The median time of a call in microseconds. Without `ofUser` the call passes no step. */
async function microseconds(ofUser: CallLimits | undefined, ofTool: CallLimits): Promise<number> {
  const limits = { ...ofTool } as Authorised['limits']
  const decision = { effect: 'allow', rule: null, owner: null, reason: '' } as const
  const call: Authorised = { ...resolvedCall({ ...tool('T'), limits }), decision }
  // The clock goes on by a millisecond for each call, so that no call is refused: a refusal is made faster than a call is run.
  let ms = 1
  const callLimiter = new CallLimiter({ leases: undefined, clock: () => (ms += 1) })
  const ownerLimits = { of: () => undefined }
  const step = ofUser && limitCalls({ callLimiter, ownerLimits, usualLimits: ofUser })
  const outcome = outcomeOf(call, toolResult('ran'))
  const next = () => Promise.resolve(outcome)
  const times: number[] = []
  for (let time = 0; time < TIMES; time += 1) {
    const startedMs = performance.now()
    for (let each = 0; each < CALLS; each += 1) await (step ? step(call, next) : next())
    if (callLimiter.state.refused > 0) throw new Error('no call is to be refused')
    times.push(((performance.now() - startedMs) * 1_000) / CALLS)
  }
  return median(times)
}
