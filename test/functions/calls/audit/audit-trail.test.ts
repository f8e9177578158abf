import { expect, test } from '@jest/globals'
import { mkdtempSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditStore } from '../../../../functions/src/calls/audit/audit-store.ts'
import type { AuditEvent } from '../../../../functions/src/calls/audit/record.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'

const event = (): AuditEvent => ({ kind: 'call', principal: { kind: 'user', uid: 'ann' }, outcome: 'ok' })

test('no text field of a record has a text with the shape of a key, and those of the service stay', async () => {
  const key = ['ghp', 'Zx9Canary7QwZx9Canary7Qw'].join('_')
  const trail = memoryAudit()
  await trail.record(() => ({
    ...event(),
    agent: key,
    session: `of ${key}`,
    workflow: key,
    tool: key,
    parentInvocationId: key,
    rule: { owner: { kind: 'agent', id: key }, index: 1 },
    subject: { names: [key], more: { [key]: `password: ${key}` } },
    digest: 'sha256:00',
    revision: '1.2.3',
    arguments: { text: 'kept' },
  }))
  const { texts } = await trail.page({ limit: 1 })
  expect(texts.join()).not.toContain('Canary')
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({
    agent: '[redacted]',
    session: 'of [redacted]',
    rule: { owner: { kind: 'agent', id: '[redacted]' }, index: 1 },
    subject: { names: ['[redacted]'] },
    digest: 'sha256:00',
    revision: '1.2.3',
    arguments: { text: 'kept' },
    principal: { kind: 'user', uid: 'ann' },
  })
})

const DAY_MS = 24 * 60 * 60 * 1_000

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

test('the verification of one day finds that all of its records are gone, unless they were too old', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'toolrack-audit-')), 'audit.sqlite')
  let nowMs = Date.parse('2026-03-01T08:00:00Z')
  const trail = memoryAudit({ store: new SqliteAuditStore(path), days: 5, now: () => nowMs })
  for (let day = 0; day < 4; day += 1, nowMs += DAY_MS) {
    await trail.record(event)
    await trail.maintain()
  }
  expect(await trail.verify('2026-03-02')).toMatchObject({ fault: null, records: 1 })
  const file = new DatabaseSync(path)
  file.exec(
    `BEGIN; INSERT INTO opened VALUES (1); DELETE FROM records WHERE day = '2026-03-02'; DELETE FROM opened; COMMIT`,
  )
  file.close()
  const { fault } = await trail.verify('2026-03-02')
  expect(fault?.place).toMatch(/^the chain \S+\/2026-03-02$/)
  expect(await trail.verify('2026-03-03')).toMatchObject({ fault: null, records: 1 })
  nowMs += 2 * DAY_MS
  await trail.record(event)
  await trail.maintain()
  expect(await trail.verify('2026-03-01')).toMatchObject({ fault: null, records: 0 })
  await trail.close()
})
