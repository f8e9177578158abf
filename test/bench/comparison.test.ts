import { expect, test } from '@jest/globals'
import { resultOf } from '../../bench/measure/result.ts'
import type { Round, Sample } from '../../bench/measure/round.ts'
import { rowsOf } from '../../bench/measure/table.ts'

const GOAL = {
  what: 'lists',
  metric: 'requestsPerSecond',
  unit: 'requests/s',
  ours: 'ours',
  against: 'peer',
  goal: { atLeast: 0.8 },
} as const

/** A round with the requests per second of both servers, and how busy they and the generator were. */
function round(ours: readonly number[], peer: readonly number[]): Round {
  return { ours: sample(ours), peer: sample(peer) }
}

function sample([requestsPerSecond = 0, busy = 0, generatorBusy = 0]: readonly number[]): Sample {
  return { requestsPerSecond, busy, generatorBusy }
}

test.each([
  ['both servers are busy', [90, 0.98, 0.7], [100, 0.97, 0.7], 'met'],
  ['both servers are busy, and ours is too slow', [70, 0.98, 0.7], [100, 0.97, 0.7], '**missed**'],
  ['both wait for the generator', [100, 0.5, 0.99], [100, 0.4, 0.99], 'the generator is the limit'],
  ['only the peer waits, and would win', [100, 0.98, 0.9], [100, 0.4, 0.99], 'the generator is the limit'],
  ['only ours waits, and wins all the same', [100, 0.4, 0.99], [20, 1, 0.3], 'met'],
  ['only ours waits, and may be faster', [70, 0.4, 0.99], [100, 1, 0.9], 'the generator is the limit'],
  ['the machine is busy, but the generator does not limit', [90, 0.5, 0.3], [100, 0.5, 0.3], 'met'],
] as const)('the verdict when %s', (_what, ours, peer, verdict) => {
  const result = resultOf('list', { rounds: [round(ours, peer)], comparisons: [GOAL] })
  expect(rowsOf(result).map((row) => row.split(' | ').at(-1))).toEqual([`${verdict} |`])
  expect(result.met).toBe(verdict === 'met')
  expect(result.medians['peer']?.['busy']).toBe(peer[1])
})

test('a row that is only reported cannot make a case miss its goals, even if the generator was the limit', () => {
  const { goal: _goal, ...reported } = { ...GOAL, what: 'lists, reported' }
  const rounds = [round([100, 0.5, 0.99], [100, 0.4, 0.99])]
  const result = resultOf('list', { rounds, comparisons: [reported] })
  expect([result.outcomes[0]?.generatorIsLimit, result.met]).toEqual([true, true])
})

test('a figure that is no throughput has no limit of the generator', () => {
  const comparison = { ...GOAL, metric: 'cpuUs', unit: 'µs', goal: { atMost: 1 } } as const
  const rounds = [{ ours: { cpuUs: 5, busy: 0.1 }, peer: { cpuUs: 9, busy: 0.1 } }]
  expect(resultOf('list', { rounds, comparisons: [comparison] }).goals).toEqual({
    lists: { atMost: 1, met: true },
  })
})
