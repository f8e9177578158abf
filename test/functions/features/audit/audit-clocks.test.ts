import { expect, test } from '@jest/globals'
import { join } from 'node:path'
import { newAuditKey, parseAuditKey } from '../../../../functions/src/features/audit/manifest.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { event } from '../../../support/audit.contract.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MIDNIGHT_MS = Date.parse('2026-03-02T00:00:00Z')

/** Instances that keep their chains in one store, each with a clock that is off by some hours. */
function instances(path: string, ...hours: readonly number[]) {
  const clock = { nowMs: 0 }
  const key = parseAuditKey(newAuditKey())
  const trails = hours.map((off, index) => {
    const store = Object.assign(new SqliteAuditStore(path), { instance: `instance-${index}` })
    return memoryAudit({ store, key, mode: 'required', now: () => clock.nowMs + off * HOUR_MS })
  })
  return { clock, trails }
}

test.each([1, -1])(
  'an instance whose clock is %d hour off signs no day to which another still adds, and nothing breaks',
  async (hours) => {
    using folder = temporaryFolder()
    const { clock, trails } = instances(join(folder.path, 'audit.sqlite'), 0, hours)
    let records = 0
    // From two hours before midnight, on either clock, until three hours after it, both add and maintain all the time.
    for (let minutes = -120; minutes <= 180; minutes += 10) {
      clock.nowMs = MIDNIGHT_MS + minutes * MINUTE_MS
      for (const trail of trails) {
        await trail.require(() => event('ann'))
        await trail.maintain()
        records += 1
      }
    }
    for (const trail of trails)
      expect(await trail.verify()).toMatchObject({ fault: null, records, manifests: 1 })
    for (const trail of trails) expect(trail.state.lost).toBe(0)
    await Promise.all(trails.map((trail) => trail.close()))
  },
)

test.each([1, -1])(
  'a clock that is set %d hour off at midnight, and back, breaks no chain',
  async (hours) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'audit.sqlite')
    const { clock, trails } = instances(path, 0)
    const [trail] = trails
    for (const minutes of [-90, -30, -20]) {
      clock.nowMs = MIDNIGHT_MS + minutes * MINUTE_MS
      await trail?.require(() => event('ann'))
      clock.nowMs += hours * HOUR_MS
      await trail?.require(() => event('ann'))
      await trail?.maintain()
    }
    clock.nowMs = MIDNIGHT_MS + 10 * MINUTE_MS
    await trail?.require(() => event('ann'))
    clock.nowMs += 26 * HOUR_MS
    await trail?.require(() => event('ann'))
    expect(await trail?.verify()).toMatchObject({ fault: null, records: 8 })
    await trail?.close()
  },
)
