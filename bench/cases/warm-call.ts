import assert from 'node:assert/strict'
import { ARGUMENTS, callOf, reusedModule, TOOLS } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { timedInTurns, type Contender } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer, type EmbeddedServer } from '../processes/embedded-server.ts'
import { callFreshInterpreter } from '../processes/fresh-interpreter.ts'
import { TEXT, withMcpPeers } from '../processes/mcp-peers.ts'
import { isReused, serviceClient, uploadModule, type ServiceClient } from '../processes/service-client.ts'

const CALLS = 200
const FRESH_CALLS = 30
/** The calls of a loop, in which each call follows the answer to the call before it. */
const LOOP_CALLS = 1_000
/** The calls that a contender makes before the next contender's turn: so many that its processes stay warm. */
const AT_A_TIME = { paused: 25, loop: 250 }
/** The calls before the first measured call: as many as until V8 has compiled what a call needs. */
const WARM_CALLS = 500

const MODULE = 'echo_json'

const REUSED = 'Toolrack, reuse'
const SINGLE = 'Toolrack, single use'
const BEFORE = 'an earlier Toolrack, single use'
const BUILT_IN = 'Toolrack, a built-in tool'
const PYTHON_SDK = 'MCP SDK for Python, not isolated'
const TYPESCRIPT_SDK = 'MCP SDK for TypeScript'
const FRESH = 'python -I, json'

/** The folder of an earlier version of Toolrack with which single use is compared. */
const earlier = process.env['BENCH_BEFORE']

/**
 * Measures a warm call through an embedded server, whose rules and audit trail are on, against `tools/call` of the official MCP SDKs
 * with the same handler, and against a new interpreter for each call.
 */
export function warmCall(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withMcpPeers(python, (peers) =>
      withEmbeddedServer(folder, { python }, async (server) => {
        const ours = await oursOf(server)
        const order = { tool: `${MODULE}:echo`, folder: TOOLS, arguments: ARGUMENTS }
        const all = (before: readonly Contender[]): readonly Contender[] => [
          ...ours.contenders,
          ...before,
          { name: PYTHON_SDK, calls: CALLS, call: peers.python.call },
          { name: TYPESCRIPT_SDK, calls: CALLS, call: peers.typescript.call },
          { name: FRESH, calls: FRESH_CALLS, call: () => callFreshInterpreter(python, order) },
        ]
        const rounds = await withEarlier(folder, python, (before) => measure(all(before), count))
        ours.close()
        const names = Object.keys(rounds[0] ?? {})
        const isMeasured = ({ ours: our, against = our }: Comparison): boolean =>
          names.includes(our) && names.includes(against)
        return { rounds, comparisons: COMPARISONS.filter(isMeasured), sharesCores: true }
      }),
    ),
  )
}

async function oursOf(server: EmbeddedServer) {
  const client = await serviceClient(server)
  const contenders: Contender[] = [await singleUse(server, client, SINGLE)]
  const builtIn = { name: 'ECHO', arguments: TEXT }
  contenders.push({ name: BUILT_IN, calls: CALLS, call: () => client.invoke(builtIn) })
  const reused = reusedModule(MODULE)
  await uploadModule(server, reused.name, reused.source)
  const call = { name: `${reused.name}:echo`, arguments: ARGUMENTS }
  if (await isReused(client, call))
    contenders.unshift({ name: REUSED, calls: CALLS, call: () => client.invoke(call) })
  else console.error('not run: reuse, because the runner starts a new process for each call')
  return { contenders, close: () => client.close() }
}

async function singleUse(server: EmbeddedServer, client: ServiceClient, name: string): Promise<Contender> {
  await uploadModule(server, MODULE, callOf(MODULE).source)
  const call = { name: `${MODULE}:echo`, arguments: ARGUMENTS }
  const answer = (await client.invoke(call)) as { data?: unknown }
  assert.deepEqual(answer.data, ARGUMENTS)
  return { name, calls: CALLS, call: () => client.invoke(call) }
}

/** Calls `work` with the contender of the earlier version, if the environment names its folder. */
function withEarlier<T>(
  folder: string,
  python: string,
  work: (before: readonly Contender[]) => Promise<T>,
): Promise<T> {
  if (earlier === undefined) return work([])
  return withEmbeddedServer(folder, { python, checkout: earlier }, async (server) => {
    const client = await serviceClient(server)
    const result = await work([await singleUse(server, client, BEFORE)])
    client.close()
    return result
  })
}

/** Times the calls after a pause and, with `loopUs`, in a loop without pauses. */
async function measure(contenders: readonly Contender[], count: number): Promise<readonly Round[]> {
  const looped = contenders
    .filter(({ name }) => name !== FRESH)
    .map((contender) => ({ ...contender, calls: LOOP_CALLS, pauseMs: 0 }))
  for (const { call } of looped) for (let calls = 0; calls < WARM_CALLS; calls += 1) await call()
  const rounds: Round[] = []
  while (rounds.length < count) {
    const [paused = {}] = await timedInTurns(contenders, 1, AT_A_TIME.paused)
    const [loop = {}] = await timedInTurns(looped, 1, AT_A_TIME.loop)
    const both = Object.entries(paused).map(([name, sample]) => {
      const { p50Us, p99Us } = loop[name] ?? {}
      const inLoop = p50Us !== undefined && p99Us !== undefined && { loopUs: p50Us, loopP99Us: p99Us }
      return [name, { ...sample, ...inLoop }] as const
    })
    rounds.push(Object.fromEntries(both))
  }
  return rounds
}

const median = { metric: 'p50Us', unit: 'µs' } as const
const slow = { metric: 'p99Us', unit: 'µs' } as const
const loop = { metric: 'loopUs', unit: 'µs' } as const

const COMPARISONS: readonly Comparison[] = [
  { ...median, what: 'reuse, median', ours: REUSED, against: PYTHON_SDK, goal: { atMost: 2 } },
  {
    ...loop,
    what: 'reuse, 1,000 calls in a loop, median',
    ours: REUSED,
    against: PYTHON_SDK,
    goal: { atMost: 2 },
  },
  { ...slow, what: 'reuse, p99', ours: REUSED, against: PYTHON_SDK },
  { ...median, what: 'single use, median', ours: SINGLE, against: BEFORE, goal: { atMost: 0.75 } },
  { ...loop, what: 'single use, 1,000 calls in a loop, median', ours: SINGLE, against: BEFORE },
  { ...median, what: 'single use, median', ours: SINGLE, against: PYTHON_SDK },
  { ...loop, what: 'single use, 1,000 calls in a loop, median', ours: SINGLE, against: PYTHON_SDK },
  { ...slow, what: 'single use, p99', ours: SINGLE, against: PYTHON_SDK },
  { ...median, what: 'single use, median', ours: SINGLE, against: FRESH, goal: { atMost: 1 / 8 } },
  {
    ...median,
    what: 'built-in tool, median',
    ours: BUILT_IN,
    against: TYPESCRIPT_SDK,
    goal: { atMost: 1.5 },
  },
  { ...loop, what: 'built-in tool, 1,000 calls in a loop, median', ours: BUILT_IN, against: TYPESCRIPT_SDK },
  { ...slow, what: 'built-in tool, p99', ours: BUILT_IN, against: TYPESCRIPT_SDK },
]
