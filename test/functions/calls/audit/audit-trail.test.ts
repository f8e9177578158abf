import { expect, test } from '@jest/globals'
import type { AuditEvent } from '../../../../functions/src/calls/audit/record.ts'
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
