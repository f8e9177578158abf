import { expect, test } from '@jest/globals'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AuditStore } from '../../../../functions/src/features/audit/audit-store.ts'
import { checkNewest } from '../../../../functions/src/features/audit/check-newest.ts'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { newAuditKey, parseAuditKey } from '../../../../functions/src/features/audit/manifest.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { event } from '../../../support/audit.contract.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const key = parseAuditKey(newAuditKey())
const publicKey = key?.publicKey

/** A trail of some days, with `perDay` records on each. */
async function trailOf(days: number, perDay: number, daysKept = 90) {
  const folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  const store = new SqliteAuditStore(path)
  let nowMs = Date.parse('2026-03-01T08:00:00Z')
  const trail = memoryAudit({ store, key, days: daysKept, now: () => nowMs })
  for (let day = 0; day < days; day += 1, nowMs += DAY_MS) {
    for (let count = 0; count < perDay; count += 1) await trail.record(() => event(`user${count % 3}`))
    await trail.maintain()
  }
  nowMs -= DAY_MS
  const ofStore = (changes: Partial<AuditStore> = {}): AuditStore => ({ ...bound(store), ...changes })
  return {
    store: ofStore,
    trail,
    check: (recordsMax?: number, changes?: Partial<AuditStore>) =>
      checkNewest(ofStore(changes), {
        publicKey,
        turns: new Turns(),
        ...(recordsMax !== undefined && { recordsMax }),
      }),
    /** Changes the file as somebody does who can write it. */
    tamper(sql: string) {
      const database = new DatabaseSync(path)
      database.exec(`BEGIN; INSERT INTO opened VALUES (1); ${sql}; DELETE FROM opened; COMMIT`)
      database.close()
    },
    async [Symbol.asyncDispose]() {
      await trail.close()
      folder[Symbol.dispose]()
    },
  }
}

/** The functions of a store as an object that can be spread. */
function bound(store: AuditStore): AuditStore {
  const { isImmediate, instance, head, append, page, days, count, chains, texts, manifests } = store
  const { keepManifest, placesOf, erase, erasures, removeBefore, close } = store
  const read = { isImmediate, instance, head, append, page, days, count, chains, texts, manifests }
  return { ...read, keepManifest, placesOf, erase, erasures, removeBefore, close }
}

const CHANGE = (day: string, seq: number): string =>
  `UPDATE records SET text = replace(text, '"outcome":"ok"', '"outcome":"no"') WHERE day = '${day}' AND seq = ${seq}`

test('the newest days are verified, with their manifests and the key', async () => {
  await using made = await trailOf(4, 5)
  expect(await made.check()).toBeNull()
  made.tamper(CHANGE('2026-03-02', 3))
  expect(await made.check()).toEqual({
    day: '2026-03-02',
    place: expect.stringMatching(/^record 3 of local-\S+\/2026-03-02$/),
    reason: expect.stringContaining('does not have its hash'),
  })
  // The newest fault is the first.
  made.tamper(CHANGE('2026-03-04', 1))
  expect(await made.check()).toMatchObject({ day: '2026-03-04' })
  const other = parseAuditKey(newAuditKey())?.publicKey
  await using sound = await trailOf(3, 1)
  expect(await checkNewest(sound.store(), { publicKey: other, turns: new Turns() })).toMatchObject({
    day: '2026-03-02',
    reason: 'its signature is not that of the key',
  })
})

test('no more than the newest records are read, and they are verified from the record before them on', async () => {
  await using made = await trailOf(1, 450)
  let read = 0
  const { texts: own } = made.store()
  const texts: AuditStore['texts'] = async (...asked) => {
    const found = await own(...asked)
    read += found.length
    return found
  }
  expect(await made.check(100, { texts })).toBeNull()
  expect(read).toBeLessThanOrEqual(101)
  made.tamper(CHANGE('2026-03-01', 349))
  expect(await made.check(100)).toBeNull()
  made.tamper(CHANGE('2026-03-01', 350))
  // The record before the first one that is verified was changed: its hash still stands there, so this is not seen either.
  expect(await made.check(100)).toBeNull()
  made.tamper(CHANGE('2026-03-01', 351))
  expect(await made.check(100)).toMatchObject({ place: expect.stringContaining('record 351') })
})

test('several days share the bound, and a day that is only verified in part still has to fit its manifest', async () => {
  await using made = await trailOf(3, 60)
  const { instance } = made.store()
  expect(await made.check(90)).toBeNull()
  made.tamper(CHANGE('2026-03-01', 60))
  expect(await made.check(90)).toBeNull()
  made.tamper(`DELETE FROM records WHERE day = '2026-03-02' AND seq > 55`)
  expect(await made.check(90)).toMatchObject({
    day: '2026-03-02',
    place: `the chain ${instance}/2026-03-02`,
    reason: expect.stringContaining('its end was cut off'),
  })
})

test('a day that is gone is told, unless it was too old', async () => {
  await using kept = await trailOf(5, 3, 2)
  expect(await kept.store().days()).toHaveLength(3)
  expect(await kept.check()).toBeNull()
  await using made = await trailOf(5, 3)
  made.tamper(`DELETE FROM records WHERE day = '2026-03-03'`)
  expect(await made.check()).toMatchObject({
    day: '2026-03-03',
    reason: expect.stringContaining('all of its records are missing'),
  })
})

test('what is erased while it is verified is no fault', async () => {
  await using made = await trailOf(2, 9)
  let asked = 0
  const { erasures: own } = made.store()
  // The first answer is older than the erasure.
  const erasures = async (): Promise<readonly string[]> => {
    asked += 1
    if (asked > 1) return own()
    await made.trail.erase({ kind: 'user', uid: 'root' }, 'user1')
    return []
  }
  expect(await made.check(undefined, { erasures })).toBeNull()
  expect(asked).toBeGreaterThan(1)
})

test('other requests get turns, and an end of the service ends the verification', async () => {
  await using made = await trailOf(1, 3_000)
  const { turns: ofOthers } = await turnsDuring(() => made.check())
  expect(ofOthers).toBeGreaterThan(3)
  const closing = new AbortController()
  const { texts: own } = made.store()
  const texts: AuditStore['texts'] = (...asked) => {
    closing.abort()
    return own(...asked)
  }
  const turns = new Turns(closing.signal)
  await expect(checkNewest(made.store({ texts }), { publicKey, turns })).rejects.toThrow(/abort/)
})

test('the trail tells a fault once, keeps it until a verification finds none, and closes during a verification', async () => {
  const told: unknown[] = []
  const log = {
    error: (message: string, fields?: object) => void told.push([message.slice(0, 34), fields]),
    info: (message: string) => void told.push(message),
  }
  await using made = await trailOf(2, 3)
  const store = made.store({ close: () => Promise.resolve() })
  const trail = memoryAudit({ store, key, log, now: () => Date.parse('2026-03-02T09:00:00Z') })
  await trail.checkNewest()
  expect([trail.fault, told]).toEqual([null, []])
  made.tamper(CHANGE('2026-03-02', 2))
  await trail.checkNewest()
  await trail.checkNewest()
  const fault = { day: '2026-03-02', place: expect.stringContaining('record 2'), reason: expect.any(String) }
  expect(trail.fault).toEqual(fault)
  expect(told).toEqual([['the audit trail does not verify: i', fault]])
  // Another day says nothing of this one.
  await trail.verify('2026-03-01')
  expect(trail.fault).toEqual(fault)
  made.tamper(CHANGE('2026-03-02', 2).replace('"ok"', '"x"').replace('"no"', '"ok"').replace('"x"', '"no"'))
  expect((await trail.verify('2026-03-02')).fault).toBeNull()
  expect([trail.fault, told[1]]).toEqual([null, 'the audit trail verifies again'])
  made.tamper(CHANGE('2026-03-01', 1))
  await trail.verify()
  expect(trail.fault).toMatchObject({ day: '2026-03-01', place: expect.stringContaining('record 1') })
  void trail.checkNewest()
  await trail.close()
})
