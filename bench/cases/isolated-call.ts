import assert from 'node:assert/strict'
import { ARGUMENTS, TOOLS } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { PAUSE_MS, timedRounds, timesSample } from '../measure/timed-rounds.ts'
import type { Contender } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { drivePython } from '../processes/drive-python.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import { withRunner } from '../processes/python-runner.ts'
import { callTool, warmModule } from '../processes/warm-module.ts'

const CALLS = 200
/** The imports of the tools, the goal against a new interpreter, and the number of interpreters in a round. */
const IMPORTS = [
  { module: 'echo_json', what: 'json', timesFaster: 10, freshCalls: 30 },
  { module: 'echo_web', what: 'json, asyncio, urllib.request', timesFaster: 40, freshCalls: 15 },
  { module: 'echo_pandas', what: 'json, pandas', timesFaster: 120, freshCalls: 5 },
] as const

const IN_PROCESS = 'the handler as a function'

/** Measures warm calls of the runner over HTTP, each in its own confined process, against a new interpreter for each call. */
export function isolatedCall(_: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, async (runner) => {
      const client = await runner.connect()
      const contenders: Contender[] = []
      for (const { module, what, freshCalls } of IMPORTS) {
        const echo = await warmModule(client, runner, module)
        const order = { tool: echo.tool, folder: TOOLS, arguments: ARGUMENTS }
        const fresh = () => callFreshInterpreter(python, order)
        assert.deepEqual(await fresh(), ARGUMENTS)
        contenders.push({ name: ours(what), calls: CALLS, call: () => callTool(client, echo) })
        contenders.push({ name: peer(what), calls: freshCalls, call: fresh })
      }
      const rounds: Round[] = []
      while (rounds.length < count) {
        const [round] = await timedRounds(contenders, 1)
        rounds.push({ ...round, [IN_PROCESS]: await inProcess(python) })
      }
      client.close()
      return { rounds, comparisons: [...IMPORTS.flatMap(comparisonsOf), WHOLE], sharesCores: true }
    }),
  )
}

async function inProcess(python: string): Promise<Sample> {
  const order = {
    calls: CALLS,
    pauseMs: PAUSE_MS,
    folder: TOOLS,
    tool: 'echo_json:echo',
    arguments: ARGUMENTS,
  }
  return timesSample(await drivePython<number[]>(python, 'in_process.py', order))
}

function comparisonsOf({ what, timesFaster }: (typeof IMPORTS)[number]): Comparison[] {
  const p50 = { metric: 'p50Us', unit: 'µs', ours: ours(what), against: peer(what) } as const
  return [
    { ...p50, what: `warm call, ${what}, median`, goal: { atMost: 1 / timesFaster } },
    { ...p50, what: `warm call, ${what}, p99`, metric: 'p99Us' },
  ]
}

function ours(what: string): string {
  return `Toolrack, ${what}`
}

function peer(what: string): string {
  return `python -I, ${what}`
}

const WHOLE = {
  what: 'warm call, json, median',
  metric: 'p50Us',
  unit: 'µs',
  ours: ours('json'),
  against: IN_PROCESS,
} as const
