import { expect, test } from '@jest/globals'
import { mkdtempSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { AuditStore } from '../../../../functions/src/features/audit/audit-store.ts'
import type { AuditEvent } from '../../../../functions/src/features/audit/record.ts'
import type { Note, RunningCalls } from '../../../../functions/src/features/audit/running-calls.ts'
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

/** Notes of running calls in memory. `left` are those that an earlier process has left. */
function runningCalls(left: readonly Note[] = []) {
  const running = new Map(left.map((note) => [note.id, note]))
  const calls: RunningCalls = {
    left,
    begin: (note) => void running.set(note.id, note),
    end: (id) => void running.delete(id),
    forgetEnded: () => undefined,
    close: () => undefined,
  }
  return { calls, running }
}

const started = (invocationId: string): AuditEvent => ({ ...event(), phase: 'start', invocationId })
const endOf = (invocationId: string): AuditEvent => ({ ...event(), invocationId })
const lostIn = async (store: AuditStore): Promise<readonly unknown[]> =>
  (await store.page({ limit: 2_000 })).texts
    .map((text) => JSON.parse(text) as { lost?: boolean; invocationId: string })
    .filter(({ lost }) => lost)
    .map(({ invocationId }) => invocationId)

test('a call is noted when it begins, and not any more when it has a record, also if that is lost', async () => {
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { calls, running } = runningCalls()
  let isFailing = false
  const append: AuditStore['append'] = (records) =>
    isFailing ? Promise.reject(new Error('full')) : store.append(records)
  const trail = memoryAudit({ store: { ...store, append }, running: calls })
  for (const id of ['a', 'b', 'c']) expect(await trail.begin(() => started(id))).toBeUndefined()
  await trail.record(() => endOf('a'))
  isFailing = true
  await trail.record(() => endOf('b'))
  expect([...running.keys()]).toEqual(['c'])
  expect(trail.state.lost).toBe(1)
  await trail.begin(() => {
    throw new Error('cannot be noted')
  })
})

test('a call that is noted soon is not noted if it ends in the same turn, and else in the next one', async () => {
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { calls, running } = runningCalls()
  const begun: string[] = []
  const trail = memoryAudit({
    store,
    running: { ...calls, begin: (note) => (begun.push(note.id), calls.begin(note)) },
  })
  for (const id of ['short', 'long', 'longer']) trail.noteSoon(id, () => started(id))
  await trail.record(() => endOf('short'))
  expect(begun).toEqual([])
  await setImmediate()
  expect(begun).toEqual(['long', 'longer'])
  await trail.record(() => endOf('long'))
  trail.noteSoon('next', () => started('next'))
  await setImmediate()
  expect([...running.keys()]).toEqual(['longer', 'next'])
})

test('required: a call is noted after its record, and not at all without one', async () => {
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { calls, running } = runningCalls()
  const append: AuditStore['append'] = (records) =>
    running.size > 0 ? Promise.reject(new Error('full')) : store.append(records)
  const trail = memoryAudit({ store: { ...store, append }, running: calls, mode: 'required' })
  await trail.begin(() => started('a'))
  await expect(trail.begin(() => started('b'))).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
  expect([...running.keys()]).toEqual(['a'])
})

test('of what was left, only what has no end is recorded, wherever the end stands, and only once', async () => {
  let nowMs = Date.parse('2026-03-01T23:59:00Z')
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { calls, running } = runningCalls()
  const trail = memoryAudit({ store, running: calls, now: () => nowMs })
  await trail.recordLost()
  await trail.begin(() => started('from the beginning'))
  for (let count = 0; count < 700; count += 1) await trail.record(event)
  for (const id of ['same day', 'next day', 'clock set back', 'lost', 'lost too'])
    await trail.begin(() => started(id))
  const left = [...running.values()]
  await trail.record(() => endOf('same day'))
  nowMs += 2 * 60_000
  await trail.record(() => endOf('next day'))
  nowMs -= DAY_MS
  await trail.record(() => endOf('clock set back'))
  await trail.record(() => endOf('from the beginning'))
  for (let start = 0; start < 2; start += 1) {
    const again = memoryAudit({ store, running: runningCalls(left).calls, now: () => nowMs })
    await again.recordLost()
    expect((await lostIn(store)).toSorted()).toEqual(['lost', 'lost too'])
    expect((await again.verify()).fault).toBeNull()
  }
})

test('only the records after the notes are read, and notes that are none are left out', async () => {
  const store: AuditStore = new SqliteAuditStore(':memory:')
  const { calls, running } = runningCalls()
  const first = memoryAudit({ store, running: calls })
  for (let count = 0; count < 2_000; count += 1) await first.record(event)
  await first.begin(() => started('lost'))
  const left = [
    ...running.values(),
    { id: 'x', text: '{"event":{"kind":"call"}}' },
    { id: 'y', text: 'null' },
  ]
  const read: number[] = []
  const texts: AuditStore['texts'] = async (chain, seq, limit) => {
    const found = await store.texts(chain, seq, limit)
    read.push(found.length)
    return found
  }
  const second = runningCalls(left.slice(0, 1))
  await memoryAudit({ store: { ...store, texts }, running: second.calls }).recordLost()
  expect(read).toEqual([0])
  const third = runningCalls(left)
  await memoryAudit({ store, running: third.calls }).recordLost()
  expect(await lostIn(store)).toEqual(['lost'])
  expect([second.running.size, third.running.size]).toEqual([0, 0])
})
