import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { ATTACKS } from '../../test/support/two-users/attacks.ts'
import type { Attack } from '../../test/support/two-users/attacks.ts'
import { HonestUser } from '../../test/support/two-users/honest-user.ts'
import type { Asked } from '../../test/support/two-users/honest-user.ts'
import { besideAll } from '../../test/support/two-users/hostile-process.ts'
import { LOOP_ATTACKS } from '../../test/support/two-users/loop-attacks.ts'
import { unsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import type { UnsignedTokens } from '../../test/support/two-users/unsigned-tokens.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median, percentile } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Sample } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer } from '../processes/embedded-server.ts'

/** The longest wait of the honest user for an answer. A later answer is measured as no answer. */
const PATIENCE_MS = 10_000
/** The pause between two requests of a kind. */
const PAUSE_MS = 10
/** The limit of the p95 during an attack: `TIMES` the p95 without an attack, or `MORE_MS` more than that p95, if that is larger. */
const TIMES = { list: 2, newList: 2, invoke: 3 } as const
const MORE_MS = 10
/** The longest wait for a list that an attack on the event loop may cause, in milliseconds. */
const WAIT_MS_MAX = 100

type Kind = keyof typeof TIMES
const KINDS = ['list', 'newList', 'invoke'] as const
/** Each `newList` has a new query, so no answer is ready. */
const TEXTS = { list: 'list', newList: 'a list that is not ready', invoke: 'invoke' } as const

type Case = { readonly attack: Attack; readonly users: number; readonly isOnLoop: boolean }
const CASES: readonly Case[] = [
  ...ATTACKS.map((attack) => ({ attack, users: 1, isOnLoop: false })),
  ...LOOP_ATTACKS.map((attack) => ({ attack, users: attack.users, isOnLoop: true })),
]

/** Measures one honest user's lists and calls: first alone, then during each attack of other users of the same server. */
export function besideHostile(
  folder: string,
  { rounds: count, seconds }: Effort,
): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    await using tokens = await unsignedTokens()
    const rounds = []
    while (rounds.length < count) {
      const samples = new Map<string, Sample>()
      for (const each of CASES) {
        const { attack } = each
        const [alone, besideIt] = await withEmbeddedServer(folder, { python, env: tokens.env }, ({ url }) =>
          aloneAndBeside(each, url, tokens, seconds),
        )
        console.error(attack.name, JSON.stringify(besideIt))
        samples.set(nameOf(attack, 'alone'), alone).set(nameOf(attack, 'beside'), besideIt)
      }
      rounds.push(Object.fromEntries(samples))
    }
    return { rounds, comparisons: CASES.flatMap(comparisons), sharesCores: true }
  })
}

async function aloneAndBeside(
  { attack, users }: Case,
  url: string,
  tokens: UnsignedTokens,
  seconds: number,
): Promise<readonly [Sample, Sample]> {
  using honest = new HonestUser(url, tokens.tokenOf('honest'), PATIENCE_MS)
  const warm = [...(await honest.round()), ...(await honest.round())]
  assert.deepEqual(
    warm.filter(({ isRight }) => !isRight),
    [],
  )
  await askFor(0.2, honest)
  const alone = sampleOf(await askFor(seconds, honest))
  const hostile = Array.from({ length: users }, (_, at) => tokens.tokenOf(`hostile${at}`))
  const asked = await besideAll(attack, { url, tokens: hostile }, async () => {
    await pause(300)
    return askFor(seconds, honest)
  })
  const besideIt = sampleOf(asked)
  return [alone, { ...besideIt, ...allowedShares(alone, besideIt) }]
}

/** Sends lists and calls at the same time. Requests of the same kind are sent one after the other. */
async function askFor(
  seconds: number,
  honest: HonestUser,
): Promise<Readonly<Record<Kind, readonly Asked[]>>> {
  const endsMs = performance.now() + seconds * 1_000
  const inTurn = async (ask: () => Promise<Asked>): Promise<readonly Asked[]> => {
    const asked: Asked[] = []
    while (performance.now() < endsMs) {
      asked.push(await ask())
      await pause(PAUSE_MS)
    }
    return asked
  }
  let lists = 0
  const newList = async (): Promise<Asked> => {
    const told = await honest.ask('GET', `/list?dialect=openai&limit=${200 + ((lists += 1) % 800)}`)
    return { ...told, what: 'newList', isRight: told.status === 200 && told.text.includes('mine__hello') }
  }
  const [list, newLists, invoke] = await Promise.all([
    inTurn(() => honest.list()),
    inTurn(newList),
    inTurn(() => honest.invoke()),
  ])
  return { list, newList: newLists, invoke }
}

/** The figures of each kind. A wrong answer is measured as an answer that took PATIENCE_MS. */
function sampleOf(asked: Readonly<Record<Kind, readonly Asked[]>>): Sample {
  const figures = KINDS.flatMap((kind) => {
    const ms = asked[kind].map((each) => (each.isRight ? each.ms : PATIENCE_MS))
    const right = asked[kind].filter(({ isRight }) => isRight).length
    return [
      [`${kind}P50Ms`, median(ms)],
      [`${kind}P95Ms`, percentile(ms, 0.95)],
      [`${kind}MostMs`, Math.max(...ms)],
      [`${kind}Asked`, ms.length],
      [`${kind}RightPercent`, (100 * right) / ms.length],
    ] as const
  })
  return Object.fromEntries(figures)
}

/** The p95 of each kind, divided by the limit of this p95. A quotient above 1 exceeds the limit. */
function allowedShares(alone: Sample, besideIt: Sample): Sample {
  return Object.fromEntries(
    KINDS.map((kind) => {
      const aloneMs = alone[`${kind}P95Ms`] ?? Number.NaN
      const allowedMs = Math.max(TIMES[kind] * aloneMs, aloneMs + MORE_MS)
      return [`${kind}OfAllowed`, (besideIt[`${kind}P95Ms`] ?? Number.NaN) / allowedMs]
    }),
  )
}

function nameOf({ name }: Attack, how: 'alone' | 'beside'): string {
  return how === 'alone' ? `alone, before ${name}` : `beside ${name}`
}

function comparisons({ attack, isOnLoop }: Case): Comparison[] {
  const ours = nameOf(attack, 'beside')
  const against = nameOf(attack, 'alone')
  const longest = (['list', 'newList'] as const).map((kind): Comparison => ({
    what: `${TEXTS[kind]}, longest wait`,
    metric: `${kind}MostMs`,
    unit: 'ms',
    ours,
    of: 'highest',
    goal: { atMost: WAIT_MS_MAX },
  }))
  const rows = KINDS.flatMap((kind): Comparison[] => [
    {
      what: `${TEXTS[kind]}, right answers`,
      metric: `${kind}RightPercent`,
      unit: '%',
      ours,
      goal: { atLeast: 99 },
    },
    { what: `${TEXTS[kind]}, median`, metric: `${kind}P50Ms`, unit: 'ms', ours, against },
    { what: `${TEXTS[kind]}, p95`, metric: `${kind}P95Ms`, unit: 'ms', ours, against },
    {
      what: `${TEXTS[kind]}, p95 as a share of what it may be`,
      metric: `${kind}OfAllowed`,
      unit: 'times',
      ours,
      goal: { atMost: 1 },
    },
  ])
  return isOnLoop ? [...rows, ...longest] : rows
}
