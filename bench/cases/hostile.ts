import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { callOf } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median, percentile } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import type { KeepAliveClient } from '../processes/keep-alive-client.ts'
import { holdingsOf } from '../processes/process-tree.ts'
import { withRunner } from '../processes/python-runner.ts'

/** The number of calls per round. */
const CALLS = 1_000
/** The number of the runner's slots. With more clients, calls would wait in the queue, which would count as exceeded deadlines. */
const CLIENTS = 8
const DEADLINE_MS = 100
const HONEST_SHARE = 0.25

/** The error codes that a call of each hostile tool may get, in addition to DEADLINE_EXCEEDED. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  hang: [],
  spin: [],
  flood: [],
  segfault: ['TOOL_CRASHED'],
  leave: ['TOOL_CRASHED'],
  garbage: ['RESULT_INVALID', 'RESULT_TOO_LARGE'],
  deep: ['RESULT_INVALID'],
  recurse: ['TOOL_RAISED', 'TOOL_CRASHED', 'MEMORY_LIMIT'],
  mute: ['RESULT_INVALID'],
  stop: ['TOOL_RAISED'],
  hog: ['MEMORY_LIMIT'],
  fill: ['DISK_LIMIT'],
  fork: ['refused'],
  dial: ['refused'],
  threads: ['TOOL_RAISED', 'MEMORY_LIMIT'],
}

type Tally = {
  honestFailures: number
  otherEnds: number
  readonly honestMs: number[]
  readonly overshootMs: number[]
}
type Answer = {
  readonly outcome: string
  readonly code?: string
  readonly text?: string
  readonly value?: unknown
}

const OURS = 'Toolrack, 3 of 4 calls hostile'

/** Makes calls, most of which attack the runner. Measures failed honest calls, exceeded deadlines, and processes that remain. */
export function hostile(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary)
  // Without namespaces the tool's own user must be able to enter the folder.
  for (const path of [folder, temporary]) chmodSync(path, 0o755)
  return withBenchPython((python) =>
    withRunner(
      python,
      async ({ pid, connect }) => {
        const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connect()))
        const random = randomNumbers(count)
        await attack(clients, random, CALLS / 10)
        const before = await holdingsOf(pid, temporary)
        const rounds: Round[] = []
        while (rounds.length < count) {
          const { honestFailures, otherEnds, honestMs, overshootMs } = await attack(clients, random, CALLS)
          const after = await holdingsOf(pid, temporary)
          const sample: Sample = {
            honestFailures,
            otherEnds,
            honestP50Ms: median(honestMs),
            honestP99Ms: percentile(honestMs, 0.99),
            overshootP50Ms: median(overshootMs),
            overshootP99Ms: percentile(overshootMs, 0.99),
            processes: after.processes - before.processes,
            descriptors: after.descriptors - before.descriptors,
            directories: after.directories - before.directories,
            mounts: after.mounts - before.mounts,
          }
          rounds.push({ [OURS]: sample })
        }
        for (const client of clients) client.close()
        return { rounds, comparisons: COMPARISONS, sharesCores: true }
      },
      { TMPDIR: temporary },
    ),
  )
}

async function attack(
  clients: readonly KeepAliveClient[],
  random: () => number,
  calls: number,
): Promise<Tally> {
  const tally: Tally = { honestFailures: 0, otherEnds: 0, honestMs: [], overshootMs: [] }
  let left = calls
  await Promise.all(
    clients.map(async (client) => {
      while (left > 0) {
        left -= 1
        await (random() < HONEST_SHARE ? callHonest(client, left, tally) : callHostile(client, random, tally))
      }
    }),
  )
  return tally
}

async function callHonest(client: KeepAliveClient, number: number, tally: Tally): Promise<void> {
  const [answer, ms] = await timed(client, { ...callOf('hostile', 'honest'), arguments: { number } })
  tally.honestMs.push(ms)
  if (JSON.stringify(answer.value) === JSON.stringify({ number })) return
  tally.honestFailures += 1
  console.error('an honest call failed:', JSON.stringify(answer))
}

async function callHostile(client: KeepAliveClient, random: () => number, tally: Tally): Promise<void> {
  const names = Object.keys(ENDS)
  const name = names[Math.floor(random() * names.length)] ?? 'hang'
  const call = { ...callOf('hostile', name), arguments: {}, deadlineMs: DEADLINE_MS }
  const [answer, ms] = await timed(client, call)
  const end = answer.code ?? answer.text ?? 'success'
  if (end !== 'DEADLINE_EXCEEDED' && !ENDS[name]?.includes(end)) {
    tally.otherEnds += 1
    console.error(`${name} ended otherwise:`, JSON.stringify(answer).slice(0, 300))
  }
  if (ms > DEADLINE_MS) tally.overshootMs.push(ms - DEADLINE_MS)
}

async function timed(client: KeepAliveClient, call: unknown): Promise<[Answer, number]> {
  const startedMs = performance.now()
  const answer = (await client.send('POST', '/invoke', call)) as Answer
  return [answer, performance.now() - startedMs]
}

/** A source of random numbers. The same seed gives the same numbers. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const never = { unit: 'left', ours: OURS, of: 'highest', goal: { atMost: 0 } } as const

const COMPARISONS: readonly Comparison[] = [
  { ...never, what: 'honest calls that failed', metric: 'honestFailures', unit: 'calls' },
  { what: 'hostile calls told another end than theirs', metric: 'otherEnds', unit: 'calls', ours: OURS },
  { ...never, what: 'processes', metric: 'processes' },
  { ...never, what: 'descriptors', metric: 'descriptors' },
  { ...never, what: 'directories', metric: 'directories' },
  { ...never, what: 'mounts', metric: 'mounts' },
  {
    what: 'overshoot of the deadline, p99',
    metric: 'overshootP99Ms',
    unit: 'ms',
    ours: OURS,
    goal: { atMost: 50 },
  },
  { what: 'overshoot of the deadline, median', metric: 'overshootP50Ms', unit: 'ms', ours: OURS },
  { what: 'an honest call among them, median', metric: 'honestP50Ms', unit: 'ms', ours: OURS },
  { what: 'an honest call among them, p99', metric: 'honestP99Ms', unit: 'ms', ours: OURS },
]
