import { Backoffs } from './backoffs.ts'
import type { FailureParts } from './failed-call.ts'
import { followStrategy } from './follow-strategy.ts'
import { resumeFallback } from './resume-fallback.ts'

type Needs = Omit<FailureParts, 'deadlineMsMax' | 'wait' | 'backoffs'> & {
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
}

/** What the definitions of tools say about failures: retries, fallbacks, questions to people, and partial results. */
export const failures = {
  name: 'failures',
  steps: ({ deadlineMsMax = Infinity, ...parts }: Needs) => ({
    'resume a fallback': resumeFallback(parts),
    'follow the failure strategy': followStrategy({ ...parts, deadlineMsMax, backoffs: new Backoffs() }),
  }),
}
