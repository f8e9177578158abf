import assert from 'node:assert/strict'
import { ARGUMENTS } from '../definitions/echo-tool.ts'
import { newModule } from '../definitions/new-module.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { timedRounds } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import { withRunner } from '../processes/python-runner.ts'
import { callTool } from '../processes/warm-module.ts'

const CALLS = 40
/** The pause before each call, in which the runner prepares the next children. Users do not send first calls without a pause. */
const PAUSE_MS = 50

const OURS = 'Toolrack, sent with the call'
const PEER = 'python -I, read from standard input'

/** Measures the first call of a module, with a new module each time, against a new interpreter for each call. */
export function firstCall(_: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, async ({ connect }) => {
      const client = await connect()
      let modules = 0
      const call = () => callTool(client, newModule((modules += 1)))
      const fresh = async () => {
        const { tool, source } = newModule((modules += 1))
        assert.deepEqual(
          await callFreshInterpreter(python, { tool, source, arguments: ARGUMENTS }),
          ARGUMENTS,
        )
      }
      const rounds = await timedRounds(
        [
          { name: OURS, calls: CALLS, pauseMs: PAUSE_MS, call },
          { name: PEER, calls: CALLS, pauseMs: PAUSE_MS, call: fresh },
        ],
        count,
      )
      client.close()
      return { rounds, comparisons: COMPARISONS, sharesCores: true }
    }),
  )
}

const p50 = { metric: 'p50Us', unit: 'µs', ours: OURS, against: PEER } as const

const COMPARISONS = [
  { ...p50, what: 'first call of a module, 40 functions, median', goal: { atMost: 0.5 } },
  { ...p50, what: 'first call of a module, 40 functions, p99', metric: 'p99Us' },
]
