import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { besideAll } from '../../test/support/two-users/hostile-process.ts'
import { LOOP_ATTACKS } from '../../test/support/two-users/loop-attacks.ts'
import type { LoopAttack } from '../../test/support/two-users/loop-attacks.ts'
import { unsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import type { UnsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import { User } from '../../test/support/two-users/user.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Sample } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer } from '../processes/embedded-server.ts'

/** The longest wait for a list. A later answer is measured as no answer. */
const PATIENCE_MS = 30_000
/** The pause between two lists. */
const PAUSE_MS = 5
/** The longest wait for a list that an attack of another user may cause, in milliseconds. */
const WAIT_MS_MAX = 100
/** The tools of the user who lists. */
const OWN_TOOLS = 25

/** A list that is ready, and one that is made for the request, because its address is new. */
const LISTS = {
  ready: () => '/list?dialect=openai',
  new: (count: number) => `/list?dialect=openai&limit=${200 + (count % 800)}`,
} as const

/** The longest wait of one user for a list, alone and then beside each attack of others that stopped the event loop. */
export function attacks(folder: string, { rounds: count, seconds }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    await using tokens = await unsignedTokens()
    const rounds = []
    while (rounds.length < count) {
      const samples = new Map<string, Sample>()
      for (const attack of LOOP_ATTACKS) {
        const [alone, beside] = await withEmbeddedServer(folder, { python, env: tokens.env }, (url) =>
          aloneAndBeside(attack, url, tokens, seconds),
        )
        console.error(attack.name, JSON.stringify({ alone, beside }))
        samples.set(nameOf(attack, 'alone'), alone).set(nameOf(attack, 'beside'), beside)
      }
      rounds.push(Object.fromEntries(samples))
    }
    return { rounds, comparisons: LOOP_ATTACKS.flatMap(comparisons), sharesCores: true }
  })
}

async function aloneAndBeside(
  attack: LoopAttack,
  url: string,
  tokens: UnsignedTokens,
  seconds: number,
): Promise<readonly [Sample, Sample]> {
  using honest = new User(url, tokens.tokenOf('honest'), PATIENCE_MS)
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  const own = Array.from({ length: OWN_TOOLS }, (_, at) => ({
    name: `mine:${at}`,
    description: 'Is mine.',
    parameters,
  }))
  assert.ok((await honest.ask('POST', '/defs', own)).status < 300)
  await listsFor(1, honest)
  const alone = await listsFor(seconds, honest)
  const users = Array.from({ length: attack.users }, (_, at) => tokens.tokenOf(`hostile${at}`))
  const beside = await besideAll(attack, { url, tokens: users }, async () => {
    await pause(300)
    return listsFor(seconds, honest)
  })
  return [alone, beside]
}

/** Asks for lists of both kinds in turns. A wrong answer is measured as one that took PATIENCE_MS. */
async function listsFor(seconds: number, honest: User): Promise<Sample> {
  const endsMs = performance.now() + seconds * 1_000
  const waits: Record<keyof typeof LISTS, number[]> = { ready: [], new: [] }
  for (let asked = 0; performance.now() < endsMs; asked += 1)
    for (const kind of ['ready', 'new'] as const) {
      const { status, text, ms } = await honest.ask('GET', LISTS[kind](asked))
      waits[kind].push(status === 200 && text.includes('mine__0') ? ms : PATIENCE_MS)
      await pause(PAUSE_MS)
    }
  return {
    readyMostMs: Math.max(...waits.ready),
    readyP50Ms: median(waits.ready),
    newMostMs: Math.max(...waits.new),
    newP50Ms: median(waits.new),
    asked: waits.ready.length + waits.new.length,
  }
}

function nameOf({ name }: LoopAttack, how: 'alone' | 'beside'): string {
  return how === 'alone' ? `alone, before ${name}` : `beside ${name}`
}

function comparisons(attack: LoopAttack): Comparison[] {
  const [ours, against] = [nameOf(attack, 'beside'), nameOf(attack, 'alone')]
  const wait = { unit: 'ms', ours } as const
  return [
    {
      ...wait,
      what: 'a ready list, longest wait',
      metric: 'readyMostMs',
      of: 'highest',
      goal: { atMost: WAIT_MS_MAX },
    },
    { ...wait, what: 'a ready list, longest wait, against none', metric: 'readyMostMs', against },
    {
      ...wait,
      what: 'a list that is not ready, longest wait',
      metric: 'newMostMs',
      of: 'highest',
      goal: { atMost: WAIT_MS_MAX },
    },
    { ...wait, what: 'a list that is not ready, longest wait, against none', metric: 'newMostMs', against },
    { ...wait, what: 'a list that is not ready, median', metric: 'newP50Ms', against },
  ]
}
