import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  chooseLevels,
  STEP_TOKENS_MAX,
  type RankedTool,
} from '../../../../functions/src/catalog/tokens/choose-levels.ts'
import { DETAIL_LEVELS } from '../../../../functions/src/catalog/tokens/detail-levels.ts'

const cost = (tokens: number) => ({ tokens, bytes: tokens * 4 })
const ranked = (group: number, full: number, short = full, deferred = 5): RankedTool => ({
  group,
  costs: { full: cost(full), short: cost(short), deferred: cost(deferred) },
})
const height = (level: string): number => [...DETAIL_LEVELS].toReversed().findIndex((one) => one === level)
const levels = (tools: readonly RankedTool[], tokens: number, bytes = Infinity) =>
  chooseLevels(tools, { tokens, bytes }, 1).map(({ level }) => level ?? 'dropped')

test('a group is whole before the next one begins, and each level is given to all of a group', () => {
  const tools = [ranked(0, 20, 10), ranked(0, 20, 10), ranked(1, 20, 10)]
  expect(levels(tools, 0)).toEqual(['dropped', 'dropped', 'dropped'])
  expect(levels(tools, 6)).toEqual(['deferred', 'dropped', 'dropped'])
  expect(levels(tools, 16)).toEqual(['short', 'deferred', 'dropped'])
  expect(levels(tools, 31)).toEqual(['full', 'short', 'dropped'])
  expect(levels(tools, 41)).toEqual(['full', 'full', 'dropped'])
  expect(levels(tools, 46)).toEqual(['full', 'full', 'deferred'])
  expect(levels(tools, 61)).toEqual(['full', 'full', 'full'])
})

test('a huge definition waits until all others are placed, whatever its place is', () => {
  const tools = [ranked(0, 100_000), ranked(1, 50), ranked(2, 50)]
  expect(levels(tools, 1_000)).toEqual(['deferred', 'full', 'full'])
  expect(levels(tools, 100_101)).toEqual(['full', 'full', 'full'])
  expect(levels([ranked(0, STEP_TOKENS_MAX + 5), ranked(1, 50)], 1_000)).toEqual(['deferred', 'dropped'])
})

test('a level that takes no less than a higher one is never used', () => {
  expect(levels([ranked(0, 20, 20)], 20)).toEqual(['deferred'])
  expect(levels([ranked(0, 4, 4, 5)], 5)).toEqual(['full'])
})

test('bytes bound the list too', () => {
  expect(levels([ranked(0, 20), ranked(0, 20)], 1_000_000, 100)).toEqual(['full', 'deferred'])
})

test('more room never shows less, what is used is within the room, and needs says when a level is reached', () => {
  const costs = fc.tuple(fc.nat(3_000), fc.nat(3_000), fc.integer({ min: 1, max: 60 }))
  const tools = fc.array(
    fc
      .tuple(fc.nat(2), costs)
      .map(([group, [full, short, deferred]]) => ranked(group, full, short, deferred)),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(tools, fc.nat(20_000), fc.nat(2_000), (some, budget, more) => {
      const less = chooseLevels(some, { tokens: budget, bytes: Infinity }, 1)
      const larger = levels(some, budget + more)
      less.forEach(({ level = 'dropped', needs }, at) => {
        expect(height(larger[at] ?? '')).toBeGreaterThanOrEqual(height(level))
        const reached = DETAIL_LEVELS.find((one) => (needs[one] ?? Infinity) <= budget)
        expect(level).toBe(reached ?? 'dropped')
      })
      const used = less.map(({ level }, at) => (level ? (some[at]?.costs[level].tokens ?? 0) : 0))
      const sum = used.reduce((total, each) => total + each, 0)
      if (sum > 0) expect(sum + 1).toBeLessThanOrEqual(budget)
    }),
  )
})
