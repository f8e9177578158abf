import { expect, test } from '@jest/globals'
import { TokenBucket } from '../../../../functions/src/features/limits/token-bucket.ts'

function taken(bucket: TokenBucket, nowMs: number): number {
  let sum = 0
  for (; bucket.left(nowMs) >= 1; sum += 1) bucket.take()
  return sum
}

test('a full bucket allows its limit at once, and then one call more in each part of a minute', () => {
  const bucket = new TokenBucket(60, 1_000)
  expect(taken(bucket, 1_000)).toBe(60)
  expect(bucket.nextMs(1_000)).toBe(1_000)
  expect(taken(bucket, 1_999)).toBe(0)
  expect(taken(bucket, 2_000)).toBe(1)
  expect(taken(bucket, 12_000)).toBe(10)
})

test('a bucket never holds more than its limit, however long it was not used', () => {
  const bucket = new TokenBucket(3, 0)
  expect(taken(bucket, 1e12)).toBe(3)
})

test('a limit that is lowered or raised counts at once, and gives no call back that was used', () => {
  const bucket = new TokenBucket(600, 0)
  bucket.set(5, 0)
  expect(taken(bucket, 0)).toBe(5)
  bucket.set(600, 0)
  expect(taken(bucket, 0)).toBe(0)
  bucket.set(5, 0)
  expect(taken(bucket, 0)).toBe(0)
  bucket.set(600, 0)
  expect(taken(bucket, 1_000)).toBe(10)
})

test('a bucket that is half used is half used after a change', () => {
  const bucket = new TokenBucket(10, 0)
  for (let each = 0; each < 5; each += 1) bucket.take()
  bucket.set(600, 0)
  expect(bucket.left(0)).toBe(300)
  bucket.set(10, 0)
  expect(taken(bucket, 0)).toBe(5)
})

test('a time before the last one changes nothing', () => {
  const bucket = new TokenBucket(60, 10_000)
  expect(taken(bucket, 10_000)).toBe(60)
  expect(taken(bucket, 0)).toBe(0)
  expect(taken(bucket, 10_500)).toBe(0)
  expect(taken(bucket, 11_000)).toBe(1)
})
