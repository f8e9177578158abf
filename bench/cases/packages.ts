import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeData } from '../definitions/data-folder.ts'
import { MEANS, moduleWithHead, moduleWithoutHead, plainModule } from '../definitions/table-tool.ts'
import { SMALL_HEAD, TABLE, TABLE_FILE } from '../definitions/table-tool.ts'
import { callsPerSecond } from '../measure/calls-per-second.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { timedInTurns, timedRounds } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { keepAliveClient } from '../processes/keep-alive-client.ts'
import { withRunner } from '../processes/python-runner.ts'
import { withServers, type ServerProcess } from '../processes/server-process.ts'
import { uvRun } from '../processes/uv-run.ts'

const CALLS = 200
const UV_CALLS = 10
const CLIENTS = 16
/** The pause before a call whose child imports pandas while it waits. A child needs about half a second for this. */
const IMPORT_PAUSE_MS = 1_500
/** The calls of such a tool. */
const WAITING_CALLS = 10
/** How long to wait until the runner has a zygote that has imported pandas. */
const PRELOAD_MS = 5_000

const PRELOADED = 'Toolrack, pandas preloaded'
const LOCKED = 'Toolrack, pandas of the module'
const BOUND = 'Toolrack, a bound environment'
const PLAIN = 'Toolrack, no packages'
const UV = 'uv run --script'
const COLD = 'Toolrack, first upload with pandas'
const AGAIN = 'Toolrack, the same lock again'
const OTHER = 'Toolrack, another module with the same packages'
const WITHOUT = 'Toolrack, first upload without packages'

/** Without it, a module that asks for the same version as the operator gets the pandas that was imported before its calls. */
const NO_PRELOAD = { TOOLRACK_PACKAGES_PRELOAD: 'none' }

/** A caller of the service. It connects again if the service has closed its idle connection during an upload. */
type Client = {
  readonly send: (body: unknown) => Promise<unknown>
  readonly close: () => void
}

/** The service and the runner of one set of environments. */
type Toolrack = { readonly server: ServerProcess; readonly client: Client }

/** Measures calls of a tool with pandas through the service against `uv run --script` of the same file, and uploads of such a tool. */
export function packages(folder: string, { rounds: count, seconds }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    const cache = join(folder, 'uv-cache')
    const runUv = async (): Promise<void> => {
      const printed = await uvRun(python, { cache, file: TABLE_FILE }, TABLE)
      assert.ok(printed.includes(String(MEANS.score)), printed)
    }
    await runUv()
    await runUv()
    const own = await withToolrack(python, folder, NO_PRELOAD, async ({ server, client }) => {
      await upload(server, 'locked', moduleWithHead('locked'))
      await comesFrom(client, 'locked', false)
      const call = () => answers(client, 'locked')
      const contender = { name: LOCKED, calls: WAITING_CALLS, pauseMs: IMPORT_PAUSE_MS, call }
      const rounds: Round[] = []
      while (rounds.length < count) {
        const [timed = {}] = await timedRounds([contender], 1)
        const perSecond = await throughputOf(server, 'locked', seconds)
        rounds.push({ [LOCKED]: { ...timed[LOCKED], callsPerSecond: perSecond } })
      }
      await comesFrom(client, 'locked', false)
      return rounds
    })
    const shared = await withToolrack(python, folder, {}, async ({ server, client }) => {
      const modules = {
        preloaded: moduleWithoutHead('preloaded'),
        bound: plainModule('bound', SMALL_HEAD),
        plain: plainModule('plain'),
      }
      for (const [name, source] of Object.entries(modules)) await upload(server, name, source)
      const callOf = (name: string) => () => answers(client, name)
      for (const name of Object.keys(modules)) await answers(client, name)
      await comesFrom(client, 'preloaded', true)
      await pause(PRELOAD_MS)
      for (let warm = 0; warm < CALLS / 4; warm += 1)
        for (const name of Object.keys(modules)) await answers(client, name)
      const rounds: Round[] = []
      while (rounds.length < count) {
        const [turns = {}] = await timedInTurns(
          [
            { name: BOUND, calls: CALLS, call: callOf('bound') },
            { name: PLAIN, calls: CALLS, call: callOf('plain') },
          ],
          1,
        )
        const [timed = {}] = await timedRounds(
          [
            { name: PRELOADED, calls: CALLS, call: callOf('preloaded') },
            { name: UV, calls: UV_CALLS, call: runUv },
          ],
          1,
        )
        const moreUs = (turns[BOUND]?.['p50Us'] ?? 0) - (turns[PLAIN]?.['p50Us'] ?? 0)
        rounds.push({
          ...timed,
          ...turns,
          [BOUND]: { ...turns[BOUND], moreUs },
          [PRELOADED]: {
            ...timed[PRELOADED],
            callsPerSecond: await throughputOf(server, 'preloaded', seconds),
          },
        })
      }
      return rounds
    })
    const rounds: Round[] = []
    for (const [index, round] of shared.entries())
      rounds.push({ ...round, ...own[index], ...(await uploads(python, folder)) })
    return { rounds, comparisons: COMPARISONS, sharesCores: true }
  })
}

/** Calls per second of clients that call one module without a pause. */
async function throughputOf(server: ServerProcess, module: string, seconds: number): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => clientOf(server)))
  const perSecond = await callsPerSecond(
    clients.map((client) => () => answers(client, module)),
    seconds,
  )
  for (const client of clients) client.close()
  return perSecond
}

/** Measures uploads and their first answers at a runner that has no environment and an empty cache. */
function uploads(python: string, folder: string): Promise<Round> {
  return withToolrack(python, folder, {}, async ({ server, client }) => {
    const timed = async (name: string, source: string): Promise<number> => {
      const startedMs = performance.now()
      await upload(server, name, source)
      await answers(client, name)
      return performance.now() - startedMs
    }
    // The first upload of all starts what each later one finds.
    await timed('first', plainModule('first'))
    const withoutMs = await timed('without', plainModule('without'))
    const coldMs = await timed('cold', moduleWithHead('cold'))
    // The service sends the lock of the same bytes, so nothing is resolved.
    const againMs = await timed('cold', moduleWithHead('cold'))
    const otherMs = await timed('other', moduleWithHead('other'))
    return {
      [WITHOUT]: { ms: withoutMs },
      [COLD]: { ms: coldMs },
      [AGAIN]: { ms: againMs, moreMs: againMs - withoutMs },
      [OTHER]: { ms: otherMs },
    }
  })
}

/** Calls `work` with a service and a runner whose folder of environments is new. */
function withToolrack<T>(
  python: string,
  folder: string,
  more: Readonly<Record<string, string>>,
  work: (toolrack: Toolrack) => Promise<T>,
): Promise<T> {
  const own = mkdtempSync(join(folder, 'packages-'))
  const settings = { TOOLRACK_PACKAGES: 'on', TOOLRACK_PACKAGES_DIR: join(own, 'environments'), ...more }
  return withRunner(
    python,
    (runner) =>
      withServers(async (start) => {
        const data = await makeData(own, [])
        const env = { ...data, ...runner.address, TOOLRACK_GRANTS: 'accept' }
        const server = await start('toolrack.ts', { env })
        const client = await clientOf(server)
        try {
          return await work({ server, client })
        } finally {
          client.close()
        }
      }),
    settings,
  )
}

const median = { metric: 'p50Us', unit: 'µs', against: UV } as const

const COMPARISONS: readonly Comparison[] = [
  { ...median, what: 'warm call, pandas preloaded, median', ours: PRELOADED, goal: { atMost: 1 / 50 } },
  { ...median, what: 'call after a pause, pandas of the module, median', ours: LOCKED },
  {
    what: `${CLIENTS} clients, pandas preloaded`,
    metric: 'callsPerSecond',
    unit: 'calls/s',
    ours: PRELOADED,
  },
  {
    what: `${CLIENTS} clients, pandas of the module`,
    metric: 'callsPerSecond',
    unit: 'calls/s',
    ours: LOCKED,
  },
  {
    what: 'warm call, what binding an environment adds, median',
    metric: 'moreUs',
    unit: 'µs',
    ours: BOUND,
    goal: { atMost: 1_000 },
  },
  { what: 'upload to first answer, no packages', metric: 'ms', unit: 'ms', ours: WITHOUT },
  { what: 'upload to first answer, pandas, nothing is there yet', metric: 'ms', unit: 'ms', ours: COLD },
  { what: 'upload to first answer, the same lock again', metric: 'ms', unit: 'ms', ours: AGAIN },
  { what: 'upload to first answer, resolved to the same lock', metric: 'ms', unit: 'ms', ours: OTHER },
  {
    what: 'the same lock again, what it adds to an upload without packages',
    metric: 'moreMs',
    unit: 'ms',
    ours: AGAIN,
    goal: { atMost: 1_000 },
  },
]

async function clientOf({ url, token = '' }: ServerProcess): Promise<Client> {
  const connect = () => keepAliveClient(Number(new URL(url).port), token)
  let connection = await connect()
  return {
    async send(body) {
      if (!connection.isOpen()) connection = await connect()
      return connection.send('POST', '/workflows/tools/invoke', body)
    },
    close: () => connection.close(),
  }
}

async function upload({ url, token = '' }: ServerProcess, name: string, source: string): Promise<void> {
  const answer = await fetch(`${url}/workflows/tools/modules/${name}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}` },
    body: new TextEncoder().encode(source),
  })
  assert.ok(answer.ok, await answer.text())
}

/** Throws if the call fails, because a failure would be measured as a quick answer. */
async function answers(client: Client, module: string): Promise<void> {
  const call = { name: `${module}:means`, arguments: { text: TABLE } }
  const answer = (await client.send(call)) as { readonly data?: unknown }
  assert.deepEqual(answer.data, MEANS, JSON.stringify(answer))
}

/** Throws if the module imports the other pandas: that of the runner, or that of its own environment. */
async function comesFrom(client: Client, module: string, isOfRunner: boolean): Promise<void> {
  const answer = await client.send({ name: `${module}:origin`, arguments: {} })
  const { textResultForLlm: path = '' } = answer as { readonly textResultForLlm?: string }
  assert.equal(path.includes('site-packages'), isOfRunner, `${module} imports ${path}`)
}
