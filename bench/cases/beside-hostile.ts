import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { ATTACKS } from '../../test/support/two-users/attacks.ts'
import type { Attack } from '../../test/support/two-users/attacks.ts'
import { HonestUser } from '../../test/support/two-users/honest-user.ts'
import type { Asked } from '../../test/support/two-users/honest-user.ts'
import { beside } from '../../test/support/two-users/hostile-process.ts'
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
/** The limit of the p95 beside an attack: `TIMES` the p95 alone, or `MORE_MS` more than the p95 alone, if that is larger. */
const TIMES = { list: 2, invoke: 3 } as const
const MORE_MS = 10

type Kind = keyof typeof TIMES
const KINDS = ['list', 'invoke'] as const

/** One honest user's lists and calls, alone and then beside each attack of another user of the same server. */
export function besideHostile(
  folder: string,
  { rounds: count, seconds }: Effort,
): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    await using tokens = await unsignedTokens()
    const rounds = []
    while (rounds.length < count) {
      const samples = new Map<string, Sample>()
      for (const attack of ATTACKS) {
        const [alone, besideIt] = await withEmbeddedServer(folder, { python, env: tokens.env }, (url) =>
          aloneAndBeside(attack, url, tokens, seconds),
        )
        console.error(attack.name, JSON.stringify(besideIt))
        samples.set(nameOf(attack, 'alone'), alone).set(nameOf(attack, 'beside'), besideIt)
      }
      rounds.push(Object.fromEntries(samples))
    }
    return { rounds, comparisons: ATTACKS.flatMap(comparisons), sharesCores: true }
  })
}

async function aloneAndBeside(
  attack: Attack,
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
  await askFor(1, honest)
  const alone = sampleOf(await askFor(seconds, honest))
  const asked = await beside(attack, { url, token: tokens.tokenOf('hostile') }, async () => {
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
  const [list, invoke] = await Promise.all([inTurn(() => honest.list()), inTurn(() => honest.invoke())])
  return { list, invoke }
}

/** The figures of each kind. A wrong answer is measured as an answer that took PATIENCE_MS. */
function sampleOf(asked: Readonly<Record<Kind, readonly Asked[]>>): Sample {
  const figures = KINDS.flatMap((kind) => {
    const ms = asked[kind].map((each) => (each.isRight ? each.ms : PATIENCE_MS))
    const right = asked[kind].filter(({ isRight }) => isRight).length
    return [
      [`${kind}P50Ms`, median(ms)],
      [`${kind}P95Ms`, percentile(ms, 0.95)],
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

function comparisons(attack: Attack): Comparison[] {
  const ours = nameOf(attack, 'beside')
  const against = nameOf(attack, 'alone')
  return KINDS.flatMap((kind): Comparison[] => [
    {
      what: `${kind}, right answers`,
      metric: `${kind}RightPercent`,
      unit: '%',
      ours,
      goal: { atLeast: 99 },
    },
    { what: `${kind}, median`, metric: `${kind}P50Ms`, unit: 'ms', ours, against },
    { what: `${kind}, p95`, metric: `${kind}P95Ms`, unit: 'ms', ours, against },
    {
      what: `${kind}, p95 as a share of what it may be`,
      metric: `${kind}OfAllowed`,
      unit: 'times',
      ours,
      goal: { atMost: 1 },
    },
  ])
}
