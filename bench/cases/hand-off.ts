import { join } from 'node:path'
import { ARGUMENTS, TOOLS } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { PAUSE_MS, timesSample } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { drivePython } from '../processes/drive-python.ts'
import { RUNNER } from '../processes/python-runner.ts'

const CALLS = 200

const BARE = 'to a confined child and back'
const WHOLE = 'all that the pool does for a call'
const UNCONFINED = 'a connection to an unconfined worker'
/** The names of the contenders in the output of `hand_off.py`. */
const CONTENDERS = { bare: BARE, whole: WHOLE, unconfined: UNCONFINED } as const

type Driven = {
  /** The layers of the jail that this machine does not have. */
  readonly missing: string
  readonly rounds: readonly Readonly<Record<keyof typeof CONTENDERS, readonly number[]>>[]
}

/** One call without HTTP. All contenders run in the same event loop. */
export function handOff(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    const order = {
      calls: CALLS,
      rounds: count,
      pauseMs: PAUSE_MS,
      folder: TOOLS,
      socket: join(folder, 'worker.sock'),
      arguments: ARGUMENTS,
    }
    const { missing, rounds } = await drivePython<Driven>(python, 'hand_off.py', order, {
      PYTHONPATH: RUNNER,
    })
    if (missing) return { notRun: `the jail lacks ${missing} here` }
    return {
      rounds: rounds.map((round) =>
        Object.fromEntries(
          Object.entries(CONTENDERS).map(([key, name]) => [
            name,
            timesSample(round[key as keyof typeof CONTENDERS]),
          ]),
        ),
      ),
      comparisons: COMPARISONS,
      sharesCores: true,
    }
  })
}

const p50 = { metric: 'p50Us', unit: 'µs', against: UNCONFINED } as const

const COMPARISONS: readonly Comparison[] = [
  { ...p50, what: 'hand-off, median', ours: BARE, goal: { atMost: 2 } },
  { ...p50, what: 'hand-off, p99', metric: 'p99Us', ours: BARE },
  { ...p50, what: 'hand-off with clearing away and usage, median', ours: WHOLE },
  { ...p50, what: 'hand-off with clearing away and usage, p99', metric: 'p99Us', ours: WHOLE },
]
