import { ARGUMENTS, invocation, reusedModule, TOOLS } from '../definitions/echo-tool.ts'
import type { Invocation } from '../definitions/echo-tool.ts'
import { callsPerSecond } from '../measure/calls-per-second.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import type { KeepAliveClient } from '../processes/keep-alive-client.ts'
import { withRunner } from '../processes/python-runner.ts'
import type { PythonRunner } from '../processes/python-runner.ts'
import { callTool, warmModule } from '../processes/warm-module.ts'

const CLIENTS = 16
const MODULE = 'echo_web'

/** The reuse of a spec that says `"reuse": true`, and the session of the calls. */
const REUSE = { reuse: 100, session: 'bench' }

const OURS = 'Toolrack, json, asyncio, urllib.request'
const REUSED = 'Toolrack, reuse, json, asyncio, urllib.request'
const PEER = 'python -I, json, asyncio, urllib.request'

/** Measures calls per second. Each client sends its next call as soon as it has an answer. */
export function isolatedThroughput(
  _: string,
  { rounds: count, seconds }: Effort,
): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, async (runner) => {
      const first = await runner.connect()
      const echo = await warmModule(first, runner, MODULE)
      const reused = await reusedCall(first)
      first.close()
      if (reused === undefined) console.error('not run: reuse, because the runner does not offer it')
      const order = { tool: echo.tool, folder: TOOLS, arguments: ARGUMENTS }
      const fresh = Array.from({ length: CLIENTS }, () => () => callFreshInterpreter(python, order))
      const rounds: Round[] = []
      while (rounds.length < count) {
        rounds.push({
          [OURS]: { callsPerSecond: await runnersCalls(runner, echo, seconds) },
          [PEER]: { callsPerSecond: await callsPerSecond(fresh, seconds) },
          ...(reused && { [REUSED]: { callsPerSecond: await runnersCalls(runner, reused, seconds) } }),
        })
      }
      return { rounds, comparisons: reused ? [WITH_REUSE, SINGLE] : [SINGLE], sharesCores: true }
    }),
  )
}

/** The calls per second of the runner. The connections are new, because the runner closes a connection that is idle. */
async function runnersCalls(runner: PythonRunner, call: Invocation, seconds: number): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => runner.connect()))
  const perSecond = await callsPerSecond(
    clients.map((client) => () => callTool(client, call)),
    seconds,
  )
  for (const client of clients) client.close()
  return perSecond
}

/** Calls the module whose processes serve several calls, with its source. Undefined if the runner refuses the field. */
async function reusedCall(client: KeepAliveClient): Promise<Invocation | undefined> {
  const { name, source: text } = reusedModule(MODULE)
  const { source, ...call } = { ...invocation(name, 'echo', text), ...REUSE }
  try {
    await callTool(client, { ...call, source })
    return call
  } catch (error) {
    if (/ 400 /.test(String(error))) return undefined
    throw error
  }
}

const against = { metric: 'callsPerSecond', unit: 'calls/s', against: PEER } as const
const WITH_REUSE = { ...against, what: `${CLIENTS} clients, reuse`, ours: REUSED, goal: { atLeast: 40 } }
const SINGLE = { ...against, what: `${CLIENTS} clients, single use`, ours: OURS, goal: { atLeast: 20 } }
