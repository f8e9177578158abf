import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { unsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import type { UnsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import { User, type Told } from '../../test/support/two-users/user.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { percentile } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer, type EmbeddedServer } from '../processes/embedded-server.ts'

/** How many times as many calls are sent as the server can answer. */
const TIMES = 5
/** The users who send too much. Two, because one user can never have all places of the runner. */
const GREEDY = ['greedy0', 'greedy1'] as const
/** The users who send one call at a time, with a pause. */
const HONEST = ['honest0', 'honest1'] as const
const PAUSE_MS = 20
/** The calls that each user has open while the peak is measured: twice the places that one user has. */
const OPEN_AT_PEAK = 8
/** The most calls that each greedy user has open. A client has only so many connections. */
const OPEN_MAX = 400
const PATIENCE_MS = 10_000

/** Tools that keep what bounds a server busy: the places of its runner, or its processors. */
const TOOLS = {
  places: 'import time\n\ndef run() -> str:\n    """Waits."""\n    time.sleep(0.05)\n    return "done"\n',
  processors:
    'import time\n\ndef run() -> str:\n    """Computes."""\n    end = time.process_time() + 0.01\n    while time.process_time() < end:\n        pass\n    return "done"\n',
} as const
type Bound = keyof typeof TOOLS

/** The server without limits of calls, and with a limit that refuses what its users have too much before it is checked. */
const SERVERS = { 'no limits': {}, 'at most 8 at once': { TOOLRACK_USER_CALLS_AT_ONCE: '8' } } as const
type Limits = keyof typeof SERVERS
const BOUNDS = Object.keys(TOOLS) as Bound[]
const LIMITS = Object.keys(SERVERS) as Limits[]

/**
 * Measures how many calls a server answers rightly while users send five times as many as it can answer, and whether users who send
 * little notice it.
 */
export function overload(folder: string, { rounds: count, seconds }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    await using tokens = await unsignedTokens()
    const rounds: Round[] = []
    while (rounds.length < count) {
      const samples: [string, Sample][] = []
      for (const bound of BOUNDS)
        for (const limits of LIMITS) {
          const env = { ...tokens.env, ...SERVERS[limits] }
          const sample = await withEmbeddedServer(folder, { python, env }, (server) =>
            measure(server, tokens, bound, Math.max(seconds, 2)),
          )
          console.error(nameOf(bound, limits), JSON.stringify(sample))
          samples.push([nameOf(bound, limits), sample])
        }
      rounds.push(Object.fromEntries(samples))
    }
    const comparisons = BOUNDS.flatMap((bound) => LIMITS.flatMap((limits) => comparisonsOf(bound, limits)))
    return { rounds, comparisons, sharesCores: true }
  })
}

async function measure(
  { url }: EmbeddedServer,
  tokens: UnsignedTokens,
  bound: Bound,
  seconds: number,
): Promise<Sample> {
  const callers = [...GREEDY, ...HONEST].map((uid) => new User(url, tokens.tokenOf(uid), PATIENCE_MS))
  try {
    for (const caller of callers) await upload(caller, bound)
    await closedLoop(callers, 1)
    const before = rateOf(await closedLoop(callers, seconds), seconds)
    const [greedy, honest] = [callers.slice(0, GREEDY.length), callers.slice(GREEDY.length)]
    const ends = { atMs: performance.now() + seconds * 1_000 }
    const perSecond = (TIMES * before) / greedy.length
    const [flood, polite] = await Promise.all([
      Promise.all(greedy.map((caller) => openLoop(caller, perSecond, ends))),
      Promise.all(honest.map((caller) => politely(caller, ends))),
    ])
    // Other work on the machine changes the peak, so it is measured before and after the load.
    const peak = (before + rateOf(await closedLoop(callers, seconds), seconds)) / 2
    const asked = flood.flat()
    const answers = polite.flat()
    const right = answers.filter(isRight)
    const refused = asked.filter(({ status }) => status === 429)
    return {
      peakPerSecond: peak,
      sentPerSecond: (asked.length + answers.length) / seconds,
      goodputPercent: (100 * rateOf([...asked, ...answers], seconds)) / peak,
      honestPercent: (100 * right.length) / Math.max(1, answers.length),
      honestP95Ms: percentile(
        right.map(({ ms }) => ms),
        0.95,
      ),
      refusedPerSecond: refused.length / seconds,
      lost: asked.filter(({ status }) => status !== 200 && status !== 429).length,
    }
  } finally {
    for (const caller of callers) caller[Symbol.dispose]()
  }
}

async function upload(caller: User, bound: Bound): Promise<void> {
  const source = `${TOOLS[bound]}\nTOOL_SPECS = [{"name": "load:run", "handler": run}]\n`
  const { status, text } = await caller.ask('PUT', '/modules/load', source)
  assert.equal(status, 201, text)
  const first = await call(caller)
  assert.ok(isRight(first), first.text)
}

function call(caller: User): Promise<Told> {
  return caller.ask('POST', '/invoke', { name: 'load:run', arguments: {} })
}

function isRight({ status, text }: Told): boolean {
  return status === 200 && text.includes('"resultType":"success"')
}

function rateOf(answers: readonly Told[], seconds: number): number {
  return answers.filter(isRight).length / seconds
}

/** Each user has the same number of calls open, and sends the next as soon as one is answered. */
async function closedLoop(callers: readonly User[], seconds: number): Promise<readonly Told[]> {
  const endsMs = performance.now() + seconds * 1_000
  const told: Told[] = []
  async function loop(caller: User): Promise<void> {
    while (performance.now() < endsMs) told.push(await call(caller))
  }
  await Promise.all(callers.flatMap((caller) => Array.from({ length: OPEN_AT_PEAK }, () => loop(caller))))
  return told
}

type Ends = { readonly atMs: number }

/** Sends calls at a rate, whatever becomes of them, as programs do whose users do not wait. */
async function openLoop(caller: User, perSecond: number, ends: Ends): Promise<readonly Told[]> {
  const told: Told[] = []
  const startedMs = performance.now()
  const open = new Set<Promise<void>>()
  let sent = 0
  while (performance.now() < ends.atMs) {
    const due = ((performance.now() - startedMs) * perSecond) / 1_000
    for (; sent < due; sent += 1) {
      if (open.size >= OPEN_MAX) continue
      const one = call(caller).then((answer) => {
        // What is answered later than the measurement ends would count twice.
        if (performance.now() < ends.atMs) told.push(answer)
        open.delete(one)
      })
      open.add(one)
    }
    await pause(1)
  }
  await Promise.all(open)
  return told
}

async function politely(caller: User, ends: Ends): Promise<readonly Told[]> {
  const told: Told[] = []
  while (performance.now() < ends.atMs) {
    told.push(await call(caller))
    await pause(PAUSE_MS)
  }
  return told
}

function nameOf(bound: Bound, limits: Limits): string {
  return `${bound} busy, ${limits}`
}

function comparisonsOf(bound: Bound, limits: Limits): readonly Comparison[] {
  const ours = nameOf(bound, limits)
  return [
    {
      what: `right calls at ${TIMES} times the load`,
      metric: 'goodputPercent',
      unit: '%',
      ours,
      goal: { atLeast: 80 },
    },
    { what: 'right calls of honest users', metric: 'honestPercent', unit: '%', ours, goal: { atLeast: 99 } },
    { what: 'a call of an honest user, p95', metric: 'honestP95Ms', unit: 'ms', ours },
    { what: 'the peak', metric: 'peakPerSecond', unit: 'calls/s', ours },
  ]
}
