import { expect, test } from '@jest/globals'
import { limitsOfCall } from '../../../../functions/src/features/limits/applied-limits.ts'
import type { Authorised } from '../../../../functions/src/calls/call.ts'
import { CallLimiter } from '../../../../functions/src/features/limits/call-limiter.ts'
import { allowed, testClock } from './limited.ts'

/** The limits of a call of `rare`, as the definition in this layer has them. */
async function limitsIn(layer: string, callsPerMinute: number) {
  const call = { principal: { uid: 'ann' }, entry: { name: 'rare', layer }, limits: { callsPerMinute } }
  return limitsOfCall(call as unknown as Authorised, { owners: { of: () => undefined }, usual: {} })
}

test('a user who shadows a tool with an own one, and deletes that, has no calls of the tool back', async () => {
  const limiter = new CallLimiter({ leases: undefined, clock: testClock().now })
  expect(await allowed(limiter, await limitsIn('global', 2), 9)).toBe(2)
  expect(await allowed(limiter, await limitsIn('user', 600), 9)).toBe(9)
  expect(await allowed(limiter, await limitsIn('global', 2), 9)).toBe(0)
})

test('the author of a tool who raises its limit and lowers it again gives nobody a call back', async () => {
  const limiter = new CallLimiter({ leases: undefined, clock: testClock().now })
  expect(await allowed(limiter, await limitsIn('global', 2), 9)).toBe(2)
  expect(await allowed(limiter, await limitsIn('global', 600), 9)).toBe(0)
  expect(await allowed(limiter, await limitsIn('global', 2), 9)).toBe(0)
})
