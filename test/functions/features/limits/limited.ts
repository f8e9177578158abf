import type { AppliedLimits } from '../../../../functions/src/features/limits/applied-limits.ts'
import { CallLimiter, type Entered } from '../../../../functions/src/features/limits/call-limiter.ts'
import { Leases } from '../../../../functions/src/features/limits/leases.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'

function limit(max: number) {
  return { name: 'user', key: 'user', max, says: 'for each user' } as const
}

/** Limits of a user. A missing number is no limit. */
export function limitsOf(perMinute?: number, atOnce?: number): AppliedLimits {
  return {
    rates: perMinute === undefined ? [] : [limit(perMinute)],
    atOnce: atOnce === undefined ? [] : [limit(atOnce)],
  }
}

/** A clock for buckets that a test sets. It does not begin at 0, which some caches take for no time at all. */
export function testClock() {
  let ms = 1
  return { now: () => ms, pass: (by: number) => void (ms += by) }
}

/** A limiter that shares these documents with others, and what it has logged. */
export function sharingLimiter(documents: Documents, now: () => number, clock: () => number) {
  const logged: string[] = []
  const log = {
    warn: (text: string) => void logged.push(text),
    info: (text: string) => void logged.push(text),
  }
  return { logged, limiter: new CallLimiter({ leases: new Leases({ documents, now, log, clock }), clock }) }
}

let calls = 0

/** Makes a call that ends at once. */
export async function call(limiter: CallLimiter, limits: AppliedLimits, uid = 'ann'): Promise<Entered> {
  calls += 1
  const entered = await limiter.enter({ uid, invocationId: `i${calls}`, parentInvocationId: null }, limits)
  if ('leave' in entered) entered.leave()
  return entered
}

/** How many of `count` calls, one after the other, are allowed. */
export async function allowed(
  limiter: CallLimiter,
  limits: AppliedLimits,
  count: number,
  uid = 'ann',
): Promise<number> {
  let sum = 0
  for (let each = 0; each < count; each += 1) if ('leave' in (await call(limiter, limits, uid))) sum += 1
  return sum
}
