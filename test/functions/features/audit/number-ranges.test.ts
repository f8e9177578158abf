import { expect, test } from '@jest/globals'
import { NumberRanges, rangesOf } from '../../../../functions/src/features/audit/number-ranges.ts'
import { randomNumbers } from '../../../support/random-numbers.ts'

test.each([
  [[1, 2, 3, 7, 9, 10], '1-3,7,9-10'],
  [[5], '5'],
  [[], ''],
])('the ranges of %j are %j', (seqs, ranges) => {
  expect(rangesOf(seqs)).toBe(ranges)
})

test('exactly the numbers of all texts are in the ranges, however they overlap', () => {
  const random = randomNumbers(3)
  for (let round = 0; round < 50; round += 1) {
    const ranges = new NumberRanges()
    const added = new Set<number>()
    for (let text = 0; text < 4; text += 1) {
      const numbers = Array.from({ length: 60 }, (_, at) => at).filter(() => random() < 0.3)
      ranges.add(rangesOf(numbers))
      for (const number of numbers) added.add(number)
    }
    for (let number = -1; number < 62; number += 1)
      expect([number, ranges.has(number)]).toEqual([number, added.has(number)])
  }
})

test('what is no range of numbers holds nothing, and a question about many ranges is short', () => {
  const ranges = new NumberRanges()
  for (const text of ['', 'x', '7-3', '1-x']) ranges.add(text)
  expect([0, 1, 3, 5, 7].map((number) => ranges.has(number))).toEqual([false, false, false, false, false])
  const many = new NumberRanges()
  many.add(Array.from({ length: 50_000 }, (_, at) => 2 * at + 1).join(','))
  let asked = 0
  for (let number = 1; number <= 100_000; number += 1) asked += Number(many.has(number))
  expect(asked).toBe(50_000)
})
