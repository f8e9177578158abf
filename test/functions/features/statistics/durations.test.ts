import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  addDurations,
  bucketOf,
  BUCKETS,
  endOfBucketMs,
  quantileMs,
  type Durations,
} from '../../../../functions/src/features/statistics/durations.ts'

function counted(values: readonly number[]): Durations {
  const durations: Durations = {}
  for (const ms of values) addDurations(durations, { [bucketOf(ms)]: 1 })
  return durations
}

const duration = fc.double({ min: 0.1, max: 3_600_000, noNaN: true })

test('the median and the 95th percentile differ by less than 10 % from the true ones', () => {
  fc.assert(
    fc.property(
      fc.array(duration, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95),
      (values, share) => {
        const sorted = values.toSorted((a, b) => a - b)
        const truth = sorted[Math.max(1, Math.ceil(share * values.length)) - 1] ?? 0
        const told = quantileMs(counted(values), share) ?? 0
        expect(Math.abs(told - truth)).toBeLessThanOrEqual(0.1 * truth)
      },
    ),
  )
})

test('what two instances have counted is the same, whichever is added to the other', () => {
  fc.assert(
    fc.property(fc.array(duration), fc.array(duration), (one, other) => {
      const sum = counted(one)
      addDurations(sum, counted(other))
      expect(sum).toEqual(counted([...other, ...one]))
    }),
  )
})

test.each([
  [NaN, 0],
  [-5, 0],
  [0, 0],
  [Infinity, BUCKETS - 1],
  [86_400_000, BUCKETS - 1],
])('a duration of %d ms, which no call has, is in bucket %d', (ms, bucket) => {
  expect(bucketOf(ms)).toBe(bucket)
})

test('the last bucket has the longest deadline of a call', () => {
  expect(endOfBucketMs(BUCKETS - 2)).toBeLessThan(3_600_000)
  expect(endOfBucketMs(BUCKETS - 1)).toBeGreaterThan(3_600_000)
  expect(quantileMs({}, 0.5)).toBeNull()
})
