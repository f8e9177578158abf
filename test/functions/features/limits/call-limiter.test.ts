import { expect, test } from '@jest/globals'
import { CallLimiter } from '../../../../functions/src/features/limits/call-limiter.ts'
import { allowed, call, limitsOf, testClock } from './limited.ts'

const clock = testClock()

function limiter(): CallLimiter {
  return new CallLimiter({ leases: undefined, clock: clock.now })
}

/** Begins a call, which runs until `leave` is called. */
function begin(of: CallLimiter, max: number, id: string, parentInvocationId: string | null = null) {
  const entered = of.enter({ uid: 'ann', invocationId: id, parentInvocationId }, limitsOf(undefined, max))
  if (entered instanceof Promise) throw new Error('a limiter of one process never waits')
  return entered
}

test('a refusal says which limit is reached and whom it counts, and when to come back', async () => {
  const of = limiter()
  expect(await allowed(of, limitsOf(60), 100)).toBe(60)
  expect(await call(of, limitsOf(60))).toEqual({
    refusal: 'A limit is reached: 60 calls a minute for each user. Nothing was run; try again in a second.',
    retryAfterSeconds: 1,
    states: [{ name: 'user', quota: 60, left: 0, windowSeconds: 60, nextSeconds: 1 }],
  })
  expect(of.state).toEqual({ buckets: 1, refused: 41 })
})

test('a user who has used up a limit takes nothing from another user', async () => {
  const of = limiter()
  expect(await allowed(of, limitsOf(5), 9)).toBe(5)
  expect(await allowed(of, limitsOf(5), 9, 'bob')).toBe(5)
})

test('a call that one limit refuses is counted under none', async () => {
  const of = limiter()
  const [user] = limitsOf(10).rates
  const tool = { name: 'tool', key: 'tool t', max: 2, says: 'of t for each user' } as const
  const both = { rates: [...(user ? [user] : []), tool], atOnce: [] }
  expect(await allowed(of, both, 9)).toBe(2)
  expect(await allowed(of, limitsOf(10), 20)).toBe(8)
})

test('a limit that is lowered under load counts for the next call', async () => {
  const of = limiter()
  expect(await allowed(of, limitsOf(600), 10)).toBe(10)
  // The same part of the limit stays used.
  expect(await allowed(of, limitsOf(20), 100)).toBe(19)
})

test('a bucket is forgotten when it is full again', async () => {
  const of = limiter()
  expect(await allowed(of, limitsOf(5), 9)).toBe(5)
  clock.pass(60_001)
  expect(await allowed(of, limitsOf(5), 9, 'bob')).toBe(5)
  expect(await allowed(of, limitsOf(5), 9)).toBe(5)
})

test('as many calls run at once as may, and a place is free when its call has ended', () => {
  const of = limiter()
  const [first, second, third] = ['a', 'b', 'c'].map((id) => begin(of, 2, id))
  expect(first && 'leave' in first && second && 'leave' in second).toBe(true)
  expect(third).toMatchObject({
    refusal:
      'A limit is reached: 2 calls at once for each user. Nothing was run; try again when another call has ended.',
    retryAfterSeconds: 1,
    states: [{ name: 'user-at-once', quota: 2, left: 0 }],
  })
  if (first && 'leave' in first) first.leave()
  expect(begin(of, 2, 'd')).toMatchObject({ states: [{ left: 0 }] })
  expect(begin(of, 2, 'e')).toHaveProperty('refusal')
})

test('a call that another call makes uses the place of that call, and its children too', () => {
  const of = limiter()
  const parent = begin(of, 1, 'parent')
  const child = begin(of, 1, 'child', 'parent')
  expect(begin(of, 1, 'grandchild', 'child')).toHaveProperty('leave')
  expect(begin(of, 1, 'stranger')).toHaveProperty('refusal')
  if ('leave' in child) child.leave()
  expect(begin(of, 1, 'stranger')).toHaveProperty('refusal')
  if ('leave' in parent) parent.leave()
  expect(begin(of, 1, 'stranger')).toHaveProperty('leave')
})
