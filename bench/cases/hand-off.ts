import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ARGUMENTS, TOOLS } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { PAUSE_MS, timesSample } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'

const CALLS = 200
const DRIVER = fileURLToPath(new URL('../python/hand_off.py', import.meta.url))
const RUNNER = fileURLToPath(new URL('../../python-runner', import.meta.url))

const BARE = 'to a confined child and back'
const WHOLE = 'all that the pool does for a call'
const UNCONFINED = 'a connection to an unconfined worker'
const IN_PROCESS = 'the handler as a function'
/** How the driver calls them. */
const CONTENDERS = { bare: BARE, whole: WHOLE, unconfined: UNCONFINED, inProcess: IN_PROCESS } as const

type Driven = {
  /** The layers of the jail that this machine does not have. */
  readonly missing: string
  readonly rounds: readonly Readonly<Record<keyof typeof CONTENDERS, readonly number[]>>[]
}

/** One call without HTTP, all contenders in the same event loop. */
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
    const { missing, rounds } = await drive(python, order)
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

async function drive(python: string, order: unknown): Promise<Driven> {
  const env = { ...process.env, PYTHONPATH: RUNNER }
  const child = spawn(python, [DRIVER], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(order))
  const driven = (await json(child.stdout)) as Driven
  assert.ok(driven.rounds.length > 0)
  return driven
}

const p50 = { metric: 'p50Us', unit: 'µs', against: UNCONFINED } as const

const COMPARISONS: readonly Comparison[] = [
  { ...p50, what: 'hand-off, median', ours: BARE, goal: { atMost: 2 } },
  { ...p50, what: 'hand-off, p99', metric: 'p99Us', ours: BARE },
  { ...p50, what: 'hand-off with clearing away and usage, median', ours: WHOLE },
  { ...p50, what: 'hand-off with clearing away and usage, p99', metric: 'p99Us', ours: WHOLE },
  { ...p50, what: 'the same handler in process, median', ours: WHOLE, against: IN_PROCESS },
]
