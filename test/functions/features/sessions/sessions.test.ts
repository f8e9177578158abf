import { expect, test } from '@jest/globals'
import { endOf, USE_WRITTEN_MS } from '../../../../functions/src/features/sessions/session.ts'
import type { Session } from '../../../../functions/src/features/sessions/session.ts'
import type { SessionSelection } from '../../../../functions/src/catalog/views/session-selection.ts'
import { Sessions } from '../../../../functions/src/features/sessions/sessions.ts'
import { memoryStores } from '../../../support/memory-governance.ts'
import { sessionOf } from './store.contract.ts'

/** The names of a selection that does not follow the catalog. */
function listOf(names: SessionSelection['names']): readonly string[] {
  return names === 'all' ? ['(all)'] : [...names]
}

const START = sessionOf('s').usedAtMs

/** Sessions over a real store, whose reads and writes are counted, and which can be switched off. */
function opened() {
  const seen = { reads: 0, writes: 0, isLost: false, warnings: 0 }
  const time = { now: START, clock: 0 }
  const store = memoryStores(() => time.now).sessions
  const sessions = new Sessions({
    store: {
      open: undefined,
      read(uid, id) {
        seen.reads += 1
        return seen.isLost ? Promise.reject(new Error('lost')) : store.read(uid, id)
      },
      change(uid, id, plan) {
        seen.writes += 1
        return seen.isLost ? Promise.reject(new Error('lost')) : store.change(uid, id, plan)
      },
    },
    log: { info: () => undefined, warn: () => (seen.warnings += 1), error: () => undefined },
    now: () => time.now,
    clock: () => time.clock,
  })
  /** Writes as another instance does. */
  const putElsewhere = (session: Session): Promise<unknown> =>
    store.change('ann', session.id, () => ({ result: undefined, session }))
  const namesOf = async (id: string): Promise<unknown> =>
    listOf((await sessions.selectionOf('ann', id)).names)
  return { sessions, store, seen, time, putElsewhere, namesOf }
}

const tools = (...names: readonly string[]): Pick<Session, 'tools'> => ({
  tools: names.map((name) => ({ name, digest: null })),
})

test('a session is read once a second at most, and then what another instance wrote applies', async () => {
  const { seen, time, putElsewhere, namesOf, sessions } = opened()
  await putElsewhere(sessionOf('s'))
  for (let round = 0; round < 10; round += 1) expect(await namesOf('s')).toEqual(['a', 'b', 'c'])
  expect(seen.reads).toBe(1)
  expect(sessions.selectionOf('ann', 's')).not.toBeInstanceOf(Promise)
  await putElsewhere(sessionOf('s', tools('a')))
  expect(await namesOf('s')).toEqual(['a', 'b', 'c'])
  time.clock += 1_000
  expect(await namesOf('s')).toEqual(['a'])
  expect(seen.reads).toBe(2)
})

test('the selection stays the same object as long as nothing changes', async () => {
  const { time, putElsewhere, sessions } = opened()
  await putElsewhere(sessionOf('p'))
  await putElsewhere(sessionOf('s', { parent: 'p' }))
  const first = await sessions.selectionOf('ann', 's')
  time.clock += 1_000
  expect(await sessions.selectionOf('ann', 's')).toBe(first)
  await putElsewhere(sessionOf('p', tools('b')))
  time.clock += 1_000
  const after = await sessions.selectionOf('ann', 's')
  expect(listOf(after.names)).toEqual(['b'])
  expect(after.revision).not.toBe(first.revision)
})

test('while the store is lost the last known selection binds; a session that was never read is refused', async () => {
  const { seen, time, putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('s'))
  await namesOf('s')
  seen.isLost = true
  time.clock += 5_000
  expect(await namesOf('s')).toEqual(['a', 'b', 'c'])
  await expect(namesOf('other')).rejects.toThrow('lost')
})

test('a session that another instance has deleted is gone after a second', async () => {
  const { store, time, putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('s'))
  await namesOf('s')
  await store.change('ann', 's', () => ({ result: undefined, session: null }))
  time.clock += 1_000
  await expect(namesOf('s')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

test('a use is written at most once an hour, and a use that cannot be written refuses nothing', async () => {
  const { store, seen, time, putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('s'))
  for (let minute = 0; minute < 60; minute += 1) {
    await namesOf('s')
    time.now += 60_000
    time.clock += 60_000
  }
  expect(seen.writes).toBe(0)
  for (let round = 0; round < 5; round += 1) await namesOf('s')
  expect(seen.writes).toBe(1)
  expect((await store.read('ann', 's'))?.usedAtMs).toBe(START + USE_WRITTEN_MS)
  seen.isLost = true
  time.now += USE_WRITTEN_MS
  expect(await namesOf('s')).toEqual(['a', 'b', 'c'])
  expect([seen.writes, seen.warnings]).toEqual([2, 1])
})

test('a session in memory ends at its time, without a read', async () => {
  const { seen, time, putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('s'))
  await namesOf('s')
  time.now = endOf(sessionOf('s')) - 1
  seen.isLost = true
  await namesOf('s')
  time.now = endOf(sessionOf('s', { usedAtMs: time.now }))
  await expect(namesOf('s')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

test('what this instance writes during a read is not overwritten by the older read', async () => {
  const { sessions, putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('s'))
  const reading = namesOf('s')
  const written = sessionOf('s', tools('c'))
  await putElsewhere(written)
  sessions.written('ann', 's', written)
  await reading
  expect(await namesOf('s')).toEqual(['c'])
})

test('parents that lead back, which only simultaneous writes can make, are refused and end', async () => {
  const { putElsewhere, namesOf } = opened()
  await putElsewhere(sessionOf('a', { parent: 'b' }))
  await putElsewhere(sessionOf('b', { parent: 'a' }))
  await expect(namesOf('a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

test('the digests that a parent has locked bind its children, too', async () => {
  const { putElsewhere, sessions } = opened()
  const digest = `sha256:${'1'.repeat(64)}` as const
  const locked = {
    lockDigests: true,
    lockedAt: new Date(START).toISOString(),
    tools: [{ name: 'a', digest }],
  }
  await putElsewhere(sessionOf('p', locked))
  await putElsewhere(sessionOf('s', { parent: 'p', selection: 'all', tools: [] }))
  const { names, digests, lineage } = await sessions.selectionOf('ann', 's')
  expect([listOf(names), digests?.get('a')]).toEqual([['a'], digest])
  expect(lineage.map(({ id }) => id)).toEqual(['s', 'p'])
})

test('the sessions in memory are bounded by the bytes of their tools, and the one used last stays', async () => {
  const { seen, putElsewhere, namesOf } = opened()
  const names = Array.from({ length: 5_000 }, (_, at) => `tool${at}`)
  const ids = Array.from({ length: 30 }, (_, at) => `s${at}`)
  for (const id of ids) {
    await putElsewhere(sessionOf(id, tools(...names)))
    await namesOf(id)
  }
  expect(seen.reads).toBe(30)
  await namesOf('s29')
  expect(seen.reads).toBe(30)
  await namesOf('s0')
  expect(seen.reads).toBe(31)
})
