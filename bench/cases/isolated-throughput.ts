import { ARGUMENTS, TOOLS } from '../definitions/echo-tool.ts'
import { callsPerSecond } from '../measure/calls-per-second.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import { withRunner } from '../processes/python-runner.ts'
import { callTool, warmModule } from '../processes/warm-module.ts'

const CLIENTS = 16
const MODULE = 'echo_web'

const OURS = 'Toolrack, json, asyncio, urllib.request'
const PEER = 'python -I, json, asyncio, urllib.request'

/** Measures calls per second. Each client sends its next call as soon as it has an answer. */
export function isolatedThroughput(
  _: string,
  { rounds: count, seconds }: Effort,
): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, async (runner) => {
      const clients = await Promise.all(Array.from({ length: CLIENTS }, () => runner.connect()))
      const [first] = clients
      const echo = first && (await warmModule(first, runner, MODULE))
      if (!echo) throw new Error('there is no client')
      const order = { tool: echo.tool, folder: TOOLS, arguments: ARGUMENTS }
      const ours = clients.map((client) => () => callTool(client, echo))
      const fresh = clients.map(() => () => callFreshInterpreter(python, order))
      const rounds: Round[] = []
      while (rounds.length < count) {
        rounds.push({
          [OURS]: { callsPerSecond: await callsPerSecond(ours, seconds) },
          [PEER]: { callsPerSecond: await callsPerSecond(fresh, seconds) },
        })
      }
      for (const client of clients) client.close()
      return { rounds, comparisons: [COMPARISON], sharesCores: true }
    }),
  )
}

const COMPARISON = {
  what: `${CLIENTS} clients`,
  metric: 'callsPerSecond',
  unit: 'calls/s',
  ours: OURS,
  against: PEER,
  goal: { atLeast: 20 },
} as const
