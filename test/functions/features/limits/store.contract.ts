import { afterEach, expect, test } from '@jest/globals'
import { isJsonObject } from '@toolrack/contract'
import { LeasedBucket } from '../../../../functions/src/features/limits/leased-bucket.ts'
import { OwnerLimits, REREAD_MS } from '../../../../functions/src/features/limits/owner-limits.ts'
import { TokenBucket } from '../../../../functions/src/features/limits/token-bucket.ts'
import type { Ref } from '../../../../functions/src/documents/collection.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'
import { allowed, limitsOf, sharingLimiter, testClock } from './limited.ts'

const QUOTA = 60
const WARM: Ref = { of: { name: 'warm', owner: 'user', fields: isJsonObject }, key: 'warm' }
const SILENT = { warn: () => undefined, info: () => undefined }

/** What limits guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })

  /** Two instances, whose clocks go on together, and how many changes they have made. */
  async function instances() {
    const { documents, clocks } = (opened = open())
    // The first change of an instance may load a client library. It must not take the time of the first lease.
    for (const one of documents) await one.change('warm', [WARM], () => ({ result: undefined }))
    const time = testClock()
    let changes = 0
    const counted = documents.map((one): Documents => {
      const { change } = one
      return {
        ...one,
        read: one.read,
        list: one.list,
        claim: one.claim,
        history: one.history,
        change: (owner, refs, plan) => {
          changes += 1
          return change(owner, refs, plan)
        },
      }
    })
    const limiters = counted.map(
      (one, index) => sharingLimiter(one, () => clocks[index]?.nowMs ?? 0, time.now).limiter,
    )
    const [one, other] = limiters
    if (!one || !other) throw new Error('there are two instances')
    function pass(ms: number): void {
      time.pass(ms)
      for (const clock of clocks) clock.nowMs += ms
    }
    return { one, other, pass, changes: () => changes, time, counted, clocks }
  }

  test('two instances together allow the limit, within a tenth, and with few writes', async () => {
    const { one, other, pass, changes, time } = await instances()
    const alone = new TokenBucket(QUOTA, time.now())
    let exactly = 0
    let together = 0
    // Each instance gets three times as many calls as both together may allow.
    for (let second = 0; second < 60; second += 1) {
      for (; exactly < Infinity && alone.left(time.now()) >= 1; exactly += 1) alone.take()
      together += await allowed(one, limitsOf(QUOTA), second === 0 ? 50 : 3)
      together += await allowed(other, limitsOf(QUOTA), second === 0 ? 50 : 3)
      pass(1_000)
    }
    expect(Math.abs(together - exactly) / exactly).toBeLessThanOrEqual(0.1)
    // Each instance leases ten times a minute, and the bucket that was full at first has ten blocks more.
    expect(changes()).toBeLessThanOrEqual(40)
  })

  test('an instance that is killed with a leased block takes no more than this block with it', async () => {
    const { one, other } = await instances()
    const used = await allowed(one, limitsOf(QUOTA), 4)
    const left = await allowed(other, limitsOf(QUOTA), 200)
    expect(used).toBe(4)
    expect(left).toBeLessThanOrEqual(QUOTA)
    expect(left).toBeGreaterThanOrEqual(QUOTA - used - QUOTA / 10)
  })

  test('what an instance allows before its first lease is paid by that lease', async () => {
    const { one } = await instances()
    const sum = await allowed(one, limitsOf(600), 2_000)
    expect(sum).toBeGreaterThanOrEqual(600)
    // The lease is asked for when half of these 30 calls were made. The others may be made last, and nothing is left to pay for them.
    expect(sum).toBeLessThanOrEqual(615)
  })

  test('a user who makes a call now and then costs no write', async () => {
    const { one, pass, changes } = await instances()
    for (let minute = 0; minute < 5; minute += 1) {
      expect(await allowed(one, limitsOf(QUOTA), 1)).toBe(1)
      pass(61_000)
    }
    expect(changes()).toBe(0)
  })

  test('a small limit is exact from the first call on', async () => {
    const { one, other } = await instances()
    const calls = [await allowed(one, limitsOf(3), 5), await allowed(other, limitsOf(3), 5)]
    expect(calls.reduce((sum, each) => sum + each)).toBe(3)
  })

  test('an instance whose clock is an hour behind or ahead stops nobody', async () => {
    const { one, other, pass, clocks } = await instances()
    expect(await allowed(one, limitsOf(QUOTA), 100)).toBeGreaterThanOrEqual(QUOTA)
    clocks[1].nowMs -= 3_600_000
    pass(120_000)
    expect(await allowed(other, limitsOf(QUOTA), 100)).toBeLessThanOrEqual(QUOTA + QUOTA / 10)
    pass(120_000)
    expect(await allowed(other, limitsOf(QUOTA), 100)).toBeGreaterThanOrEqual(QUOTA - QUOTA / 10)
    expect(await allowed(one, limitsOf(QUOTA), 5)).toBeGreaterThan(0)
  })

  test('the limits of an owner are written, found, and deleted, by either instance', async () => {
    const { counted, clocks, time, pass } = await instances()
    const [one, other] = counted.map(
      (documents, index) =>
        new OwnerLimits({
          documents,
          now: () => clocks[index]?.nowMs ?? 0,
          log: SILENT,
          isShared: true,
          clock: time.now,
        }),
    )
    const ann = { kind: 'user', id: 'ann' } as const
    const by = { uid: 'root', precondition: {} }
    expect(await one?.of(ann)).toBeUndefined()
    const written = await one?.put(ann, { callsPerMinute: 5 }, by)
    expect(written).toMatchObject({ outcome: 'created', limits: { callsPerMinute: 5 }, updatedBy: 'root' })
    expect(one?.of(ann)).toEqual({ callsPerMinute: 5 })
    expect(await other?.of(ann)).toEqual({ callsPerMinute: 5 })
    expect(await one?.put(ann, { callsPerMinute: 5 }, by)).toMatchObject({ outcome: 'unchanged' })
    expect(await one?.put(ann, { concurrent: 2 }, by)).toMatchObject({ outcome: 'updated' })
    // The other instance reads again in the background, so no call waits for it.
    pass(REREAD_MS)
    expect(other?.of(ann)).toEqual({ callsPerMinute: 5 })
    await other?.find(ann)
    for (let tries = 0; tries < 1_000 && 'callsPerMinute' in ((await other?.of(ann)) ?? {}); tries += 1)
      await other?.find(ann)
    expect(await other?.of(ann)).toEqual({ concurrent: 2 })
    await other?.delete(ann, {})
    expect(await other?.find(ann)).toBeUndefined()
    await expect(other?.delete(ann, {})).rejects.toMatchObject({ code: 'ITEM_NOT_FOUND' })
  })

  test('a limit that is raised and lowered again gives no call back in either instance', async () => {
    const { one, other } = await instances()
    const used = (await allowed(one, limitsOf(20), 30)) + (await allowed(other, limitsOf(20), 30))
    expect(used).toBeLessThanOrEqual(20 + 2)
    let afterwards = 0
    for (const quota of [2_000, 20, 2_000, 20])
      for (const each of [one, other]) afterwards += await allowed(each, limitsOf(quota), 3)
    expect(afterwards).toBe(0)
  })

  test('a limit that is lowered under load is in force in the instance that leased for the higher one', async () => {
    const { one, other, time } = await instances()
    expect(await allowed(one, limitsOf(600), 50)).toBe(50)
    const afterwards =
      (await allowed(one, limitsOf(QUOTA), 300)) + (await allowed(other, limitsOf(QUOTA), 300))
    // The block that is there, the block that is just being leased, and the calls that each instance has for free.
    expect(afterwards).toBeLessThanOrEqual(QUOTA * 1.3)
    expect(new LeasedBucket(undefined as never, { uid: 'ann', id: 'x' }, 600).left(time.now())).toBe(30)
  })
}
