import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { nextMessage, startNodeProcess } from '../processes/node-process.ts'

/** As many calls as a user may have artifacts. */
export const CALLS = 10_000
export const FIRST = 1_000

export const WITHOUT = 'calls without an image'
export const AFTER_FIRST = `after ${FIRST.toLocaleString('en-US')} calls with an image of 8 KB`
export const AFTER_ALL = `after ${CALLS.toLocaleString('en-US')} calls with an image of 8 KB`

/** Measures the memory of a service that keeps the images of many calls, and what is left when they have expired. */
export async function artifacts(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const child = startNodeProcess('build/artifact-process.ts', {
    args: [folder, String(count)],
    nodeArgs: ['--expose-gc'],
  })
  try {
    return { rounds: await nextMessage<readonly Round[]>(child), comparisons: COMPARISONS }
  } finally {
    if (child.connected) child.disconnect()
  }
}

const COMPARISONS: readonly Comparison[] = [
  { what: 'memory in use', metric: 'usedMb', unit: 'MB', ours: AFTER_ALL, against: AFTER_FIRST },
  // The growth is that of caches which are bounded. 10,000 images have 82 MB.
  {
    what: 'growth of the memory in use',
    metric: 'grownMb',
    unit: 'MB',
    ours: AFTER_ALL,
    goal: { atMost: 4 },
  },
  { what: 'resident memory', metric: 'residentMb', unit: 'MB', ours: AFTER_ALL, against: AFTER_FIRST },
  {
    what: 'artifacts before they expire',
    metric: 'kept',
    unit: 'left',
    ours: AFTER_ALL,
    goal: { atLeast: CALLS },
  },
  {
    what: 'files after they have expired',
    metric: 'left',
    unit: 'left',
    ours: AFTER_ALL,
    goal: { atMost: 0 },
  },
  { what: 'a call, 8 at once', metric: 'callUs', unit: 'µs', ours: AFTER_ALL, against: WITHOUT },
  { what: 'removal of all', metric: 'sweepMs', unit: 'ms', ours: AFTER_ALL },
]
