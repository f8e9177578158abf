import { afterEach, expect, test } from '@jest/globals'
import { endOf, headOf, tagged, type Session } from '../../../../functions/src/features/sessions/session.ts'
import type { Sums } from '../../../../functions/src/documents/collection.ts'
import { SessionStore } from '../../../../functions/src/features/sessions/session-store.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')

/** A session of three chosen tools. */
export function sessionOf(id: string, changed: Partial<Session> = {}): Session {
  return tagged({
    id,
    key: `key of ${id}`,
    model: null,
    agent: null,
    workflow: null,
    room: null,
    parent: null,
    lockDigests: false,
    selection: 'chosen',
    tools: ['a', 'b', 'c'].map((name) => ({ name, digest: null })),
    createdAt: new Date(NOW).toISOString(),
    updatedAt: new Date(NOW).toISOString(),
    lockedAt: null,
    usedAtMs: NOW,
    ...changed,
  })
}

/** Writes a session whatever there was. */
async function put(store: SessionStore, uid: string, session: Session): Promise<void> {
  await store.change(uid, session.id, () => ({ result: undefined, session }))
}

/** What the sessions guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function stores(bounds?: Sums) {
    opened = open()
    for (const clock of opened.clocks) clock.nowMs = NOW
    const [one, other] = opened.documents
    return [new SessionStore(one, bounds), new SessionStore(other, bounds), opened.clocks] as const
  }

  test('another instance reads what was written, and another user does not', async () => {
    const [store, other] = stores()
    await put(store, 'ann', sessionOf('s1'))
    expect(await other.read('ann', 's1')).toEqual(sessionOf('s1'))
    expect(await other.read('bob', 's1')).toBeUndefined()
    expect(await other.read('ann', 's2')).toBeUndefined()
  })

  test('a change sees what there is, and can write, delete or leave it', async () => {
    const [store, other] = stores()
    await put(store, 'ann', sessionOf('s1'))
    const locked = sessionOf('s1', { lockedAt: '2026-11-22T12:01:00.000Z' })
    expect(await other.change('ann', 's1', (before) => ({ result: before, session: locked }))).toEqual(
      sessionOf('s1'),
    )
    expect(await store.change('ann', 's1', (before) => ({ result: before }))).toEqual(locked)
    expect(await store.read('ann', 's1')).toEqual(locked)
    await store.change('ann', 's1', () => ({ result: undefined, session: null }))
    expect(await other.read('ann', 's1')).toBeUndefined()
  })

  test('a page has the sessions of one user after an id, in the order of code units, without their tools', async () => {
    const [store] = stores()
    for (const id of ['b', 'a', 'B', 'a:1', 'a-1']) await put(store, 'ann', sessionOf(id))
    await put(store, 'bob', sessionOf('c'))
    const idsAfter = async (after: string | undefined, limit: number): Promise<readonly string[]> =>
      (await store.page('ann', after, limit)).map(({ id }) => id)
    expect(await idsAfter(undefined, 10)).toEqual(['B', 'a', 'a-1', 'a:1', 'b'])
    expect(await idsAfter('a', 2)).toEqual(['a-1', 'a:1'])
    expect(await idsAfter('aa', 2)).toEqual(['b'])
    expect(await store.page('ann', 'a:1', 1)).toEqual([headOf(sessionOf('b'))])
  })

  test('a user has at most so many sessions, of so many bytes; those that are over make room', async () => {
    const [store, , clocks] = stores({ count: 2, bytes: 4_000 })
    await put(store, 'ann', sessionOf('s1', { usedAtMs: NOW - 1_000 }))
    await put(store, 'ann', sessionOf('s2'))
    await put(store, 'bob', sessionOf('s1'))
    await expect(put(store, 'ann', sessionOf('s3'))).rejects.toMatchObject({ code: 'SESSIONS_FULL' })
    await put(store, 'ann', sessionOf('s2', { model: 'another' }))
    const large = sessionOf('s2', { model: 'x'.repeat(4_000) })
    await expect(put(store, 'ann', large)).rejects.toMatchObject({ code: 'SESSIONS_FULL' })
    const over = endOf({ usedAtMs: NOW - 1_000 })
    for (const clock of clocks) clock.nowMs = over
    await put(store, 'ann', sessionOf('s3', { usedAtMs: over }))
    expect((await store.page('ann', undefined, 9)).map(({ id }) => id)).toEqual(['s2', 's3'])
  })

  test('the largest session fits into a document', async () => {
    const [store, other] = stores()
    const digest = `sha256:${'f'.repeat(64)}` as const
    const tools = Array.from({ length: 5_000 }, (_, at) => ({ name: `${at}`.padStart(128, 'n'), digest }))
    await put(store, 'ann', sessionOf('s1', { tools }))
    expect(await other.read('ann', 's1')).toEqual(sessionOf('s1', { tools }))
  })
}
