import { expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { filled } from '../../../../functions/src/features/limits/leases.ts'
import { ASK_AGAIN_MS } from '../../../../functions/src/features/limits/leased-bucket.ts'
import { OwnerLimits } from '../../../../functions/src/features/limits/owner-limits.ts'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import { allowed, limitsOf, sharingLimiter, testClock } from './limited.ts'

/** Documents that can be switched off, and a clock. */
function breakable() {
  let isDown = false
  const governance = faultyGovernance(() => (isDown ? new ToolrackError('STORE_FAILED') : undefined))
  const time = testClock()
  return { time, documents: governance.documents(Date.now), setDown: (down: boolean) => void (isDown = down) }
}

test('while the store is down, each instance keeps the limit alone, and says so once', async () => {
  const { time, documents, setDown } = breakable()
  const { limiter, logged } = sharingLimiter(documents, Date.now, time.now)
  setDown(true)
  let sum = await allowed(limiter, limitsOf(60), 100)
  expect(sum).toBeGreaterThan(0)
  for (let second = 0; second < 60; second += 1) {
    time.pass(1_000)
    sum += await allowed(limiter, limitsOf(60), 10)
  }
  expect(sum).toBeGreaterThanOrEqual(60)
  expect(sum).toBeLessThanOrEqual(72)
  expect(logged).toEqual(['calls cannot be counted for all instances, so each instance counts alone'])
  setDown(false)
  time.pass(ASK_AGAIN_MS)
  await allowed(limiter, limitsOf(60), 50)
  expect(logged.slice(1)).toEqual(['calls are counted for all instances again'])
})

test('limits of owners that cannot be read again stay in force, and unknown ones stop no call', async () => {
  const { time, documents, setDown } = breakable()
  const logged: string[] = []
  const log = { warn: (text: string) => void logged.push(text), info: () => undefined }
  const owners = new OwnerLimits({ documents, now: Date.now, log, isShared: true, clock: time.now })
  const ann = { kind: 'user', id: 'ann' } as const
  await owners.put(ann, { callsPerMinute: 5 }, { uid: 'root', precondition: {} })
  setDown(true)
  time.pass(60_000)
  expect(await owners.of(ann)).toEqual({ callsPerMinute: 5 })
  expect(await owners.of({ kind: 'user', id: 'bob' })).toBeUndefined()
  expect(await owners.of(ann)).toEqual({ callsPerMinute: 5 })
  expect(logged).toHaveLength(1)
})

test('a clock that jumps gives at most one full bucket, and takes at most a minute', () => {
  const hour = 3_600_000
  const quota = 60
  const empty = { tokens: 0, quota, atMs: 10 * hour }
  expect(filled(empty, 60, 11 * hour)).toEqual({ tokens: 60, quota, atMs: 11 * hour })
  const back = filled(empty, 60, 9 * hour)
  expect(back).toEqual({ tokens: 0, quota, atMs: 9 * hour })
  expect(filled(back, 60, 9 * hour + 30_000)).toEqual({ tokens: 30, quota, atMs: 9 * hour + 30_000 })
  expect(filled(empty, 60, 10 * hour - 30_000)).toEqual(empty)
  expect(filled({ tokens: 600, quota, atMs: 0 }, 60, 0)).toEqual({ tokens: 60, quota, atMs: 0 })
})

test('a limit that changes leaves the same part of the shared bucket used', () => {
  const used = { tokens: 300, quota: 600, atMs: 0 }
  expect(filled(used, 60, 0)).toEqual({ tokens: 30, quota: 60, atMs: 0 })
  expect(filled(filled(used, 60, 0), 600, 0)).toEqual(used)
})
