import assert from 'node:assert/strict'
import { ARGUMENTS, callOf, TOOLS } from '../definitions/echo-tool.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { timedRounds } from '../measure/timed-rounds.ts'
import type { Contender } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import { keepAliveClient } from '../processes/keep-alive-client.ts'
import type { KeepAliveClient } from '../processes/keep-alive-client.ts'
import { withRunner } from '../processes/python-runner.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'
import { callTool, warmModule } from '../processes/warm-module.ts'

const CALLS = 200
const FRESH_CALLS = 30
/** The number of calls in one dispatch. */
const AT_ONCE = 8

const MODULE = 'echo_json'
const SERVICE = 'Toolrack, invoke'
const ALONE = 'Toolrack, the runner alone'
const DISPATCH = `Toolrack, dispatch of ${AT_ONCE}`
const BUILT_IN = 'Toolrack, invoke of a built-in tool'
const FRESH = 'python -I, json'

/** Measures a warm call through the service, against the same call on the runner alone and a new interpreter for each call. */
export function invoke(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, (runner) =>
      withServers(async (start) => {
        const data = await makeData(folder, [])
        const env = { ...data, TOOLRACK_DEFS_DIR: 'functions/workflows/tools/defs', ...runner.address }
        const server = await start('toolrack.ts', { env })
        let alone = await runner.connect()
        async function callAlone(): Promise<void> {
          if (!alone.isOpen()) alone = await runner.connect()
          await callTool(alone, warm)
        }
        const served = await clientOf(server)
        await upload(server)
        const warm = await warmModule(alone, runner, MODULE)
        const call = { name: `${MODULE}:echo`, arguments: ARGUMENTS }
        const uses =
          (name: string, body: unknown): (() => Promise<void>) =>
          () =>
            succeeds(served, name, body)
        const invokes = uses('/workflows/tools/invoke', call)
        const dispatches = uses(
          '/workflows/tools/dispatch',
          Array.from({ length: AT_ONCE }, (_, id) => ({
            functionCall: { id: String(id), name: call.name, args: ARGUMENTS },
          })),
        )
        const echoes = uses('/workflows/tools/invoke', { name: 'ECHO', arguments: { text: 'hi' } })
        for (let calls = 0; calls < CALLS; calls += 1) await invokes()
        for (let calls = 0; calls < AT_ONCE; calls += 1) await dispatches()
        const order = { tool: call.name, folder: TOOLS, arguments: ARGUMENTS }
        const contenders: readonly Contender[] = [
          { name: SERVICE, calls: CALLS, call: invokes },
          { name: ALONE, calls: CALLS, call: callAlone },
          { name: BUILT_IN, calls: CALLS, call: echoes },
          // During the pause, the runner prepares the eight new children. So their preparation is not measured.
          { name: DISPATCH, calls: 30, pauseMs: 100, call: dispatches },
          { name: FRESH, calls: FRESH_CALLS, call: () => callFreshInterpreter(python, order) },
        ]
        const rounds = await timedRounds(contenders, count)
        alone.close()
        served.close()
        return { rounds: rounds.map(withDifference), comparisons: COMPARISONS, sharesCores: true }
      }),
    ),
  )
}

const COMPARISONS: readonly Comparison[] = [
  {
    what: 'warm call, what the service adds, median',
    metric: 'moreUs',
    unit: 'µs',
    ours: SERVICE,
    goal: { atMost: 1_500 },
  },
  {
    what: 'warm call, through the service, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: SERVICE,
    against: ALONE,
  },
  { what: 'warm call, through the service, p99', metric: 'p99Us', unit: 'µs', ours: SERVICE, against: ALONE },
  {
    what: 'warm call, json alone, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: SERVICE,
    against: FRESH,
    goal: { atMost: 1 / 8 },
  },
  {
    what: `dispatch of ${AT_ONCE}, median`,
    metric: 'p50Us',
    unit: 'µs',
    ours: DISPATCH,
    against: SERVICE,
    goal: { atMost: 2.5 },
  },
  { what: 'built-in tool, median', metric: 'p50Us', unit: 'µs', ours: BUILT_IN },
]

/** The round, with `moreUs`: the median of a call through the service minus the median of a call on the runner alone. */
function withDifference(round: Awaited<ReturnType<typeof timedRounds>>[number]): typeof round {
  const [ours, alone] = [round[SERVICE], round[ALONE]]
  assert.ok(ours && alone)
  return { ...round, [SERVICE]: { ...ours, moreUs: (ours['p50Us'] ?? 0) - (alone['p50Us'] ?? 0) } }
}

function clientOf({ url, token = '' }: ServerProcess): Promise<KeepAliveClient> {
  return keepAliveClient(Number(new URL(url).port), token)
}

async function upload({ url, token = '' }: ServerProcess): Promise<void> {
  const answer = await fetch(`${url}/workflows/tools/modules/${MODULE}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}` },
    body: new TextEncoder().encode(callOf(MODULE).source),
  })
  assert.equal(answer.status, 201, await answer.text())
}

/** Throws if the call fails, because a failure would be measured as a quick answer. */
async function succeeds(client: KeepAliveClient, path: string, body: unknown): Promise<void> {
  const answer = JSON.stringify(await client.send('POST', path, body))
  assert.ok(!answer.includes('"failure"'), answer)
}
