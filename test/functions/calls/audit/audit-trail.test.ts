import { expect, test } from '@jest/globals'
import type { AuditStore } from '../../../../functions/src/calls/audit/audit-store.ts'
import type { AuditEvent } from '../../../../functions/src/calls/audit/record.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'

const event = (): AuditEvent => ({ kind: 'call', principal: { kind: 'user', uid: 'ann' }, outcome: 'ok' })

/** Waits for this number of promises that are already resolved. */
async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await Promise.resolve()
}

test('an event that is recorded while the one before it has just been written is written too', async () => {
  const trail = memoryAudit()
  for (let after = 0; after < 40; after += 1) {
    const first = trail.record(event)
    await microtasks(after)
    await Promise.all([first, trail.record(event)])
  }
  const { texts } = await trail.page({ limit: 100 })
  expect(texts).toHaveLength(80)
})

test('an event that is lost while a commit is under way is told by the next record', async () => {
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { promise: open, resolve } = Promise.withResolvers<void>()
  const append: AuditStore['append'] = (records) => open.then(() => store.append(records))
  const trail = memoryAudit({ store: { ...store, isImmediate: false, append } })
  for (let count = 0; count < 1_200; count += 1) await trail.record(event)
  resolve()
  await trail.written()
  await trail.record(event)
  await trail.written()
  const told: number[] = []
  for await (const line of trail.lines()) {
    const { lostBefore = 0 } = JSON.parse(line) as { readonly lostBefore?: number }
    told.push(lostBefore)
  }
  expect(told.reduce((sum, lost) => sum + lost, 0)).toBe(trail.state.lost)
  expect(trail.state.lost).toBeGreaterThan(0)
})
