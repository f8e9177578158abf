import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { climb, STEP_TOKENS_MAX, type Climber } from '../../../../functions/src/catalog/tokens/ladder.ts'
import { RUNGS } from '../../../../functions/src/catalog/tokens/rungs.ts'

const cost = (tokens: number) => ({ tokens, bytes: tokens * 4 })
const climber = (group: number, full: number, short = full, deferred = 5): Climber => ({
  group,
  costs: { full: cost(full), short: cost(short), deferred: cost(deferred) },
})
const height = (rung: string): number => [...RUNGS].toReversed().findIndex((one) => one === rung)
const rungs = (tools: readonly Climber[], tokens: number, bytes = Infinity) =>
  climb(tools, { tokens, bytes }, 1).map(({ rung }) => rung ?? 'dropped')

test('a group is whole before the next one begins, and each rung is given to all of a group', () => {
  const tools = [climber(0, 20, 10), climber(0, 20, 10), climber(1, 20, 10)]
  expect(rungs(tools, 0)).toEqual(['dropped', 'dropped', 'dropped'])
  expect(rungs(tools, 6)).toEqual(['deferred', 'dropped', 'dropped'])
  expect(rungs(tools, 16)).toEqual(['short', 'deferred', 'dropped'])
  expect(rungs(tools, 31)).toEqual(['full', 'short', 'dropped'])
  expect(rungs(tools, 41)).toEqual(['full', 'full', 'dropped'])
  expect(rungs(tools, 46)).toEqual(['full', 'full', 'deferred'])
  expect(rungs(tools, 61)).toEqual(['full', 'full', 'full'])
})

test('a huge definition waits until all others are placed, whatever its place is', () => {
  const tools = [climber(0, 100_000), climber(1, 50), climber(2, 50)]
  expect(rungs(tools, 1_000)).toEqual(['deferred', 'full', 'full'])
  expect(rungs(tools, 100_101)).toEqual(['full', 'full', 'full'])
  expect(rungs([climber(0, STEP_TOKENS_MAX + 5), climber(1, 50)], 1_000)).toEqual(['deferred', 'dropped'])
})

test('a rung that takes no less than a higher one is never used', () => {
  expect(rungs([climber(0, 20, 20)], 20)).toEqual(['deferred'])
  expect(rungs([climber(0, 4, 4, 5)], 5)).toEqual(['full'])
})

test('bytes bound the list too', () => {
  expect(rungs([climber(0, 20), climber(0, 20)], 1_000_000, 100)).toEqual(['full', 'deferred'])
})

test('more room never shows less, what is used is within the room, and needs says when a rung is reached', () => {
  const costs = fc.tuple(fc.nat(3_000), fc.nat(3_000), fc.integer({ min: 1, max: 60 }))
  const tools = fc.array(
    fc
      .tuple(fc.nat(2), costs)
      .map(([group, [full, short, deferred]]) => climber(group, full, short, deferred)),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(tools, fc.nat(20_000), fc.nat(2_000), (some, budget, more) => {
      const less = climb(some, { tokens: budget, bytes: Infinity }, 1)
      const larger = rungs(some, budget + more)
      less.forEach(({ rung = 'dropped', needs }, at) => {
        expect(height(larger[at] ?? '')).toBeGreaterThanOrEqual(height(rung))
        const reached = RUNGS.find((one) => (needs[one] ?? Infinity) <= budget)
        expect(rung).toBe(reached ?? 'dropped')
      })
      const used = less.map(({ rung }, at) => (rung ? (some[at]?.costs[rung].tokens ?? 0) : 0))
      const sum = used.reduce((total, each) => total + each, 0)
      if (sum > 0) expect(sum + 1).toBeLessThanOrEqual(budget)
    }),
  )
})
