import { afterEach, expect, test } from '@jest/globals'
import { endOf, headOf, tagged, type Session } from '../../functions/src/features/sessions/session.ts'
import { sessionBytes, sessionTexts } from '../../functions/src/features/sessions/session-store.ts'
import type { SessionStore, SessionSums } from '../../functions/src/features/sessions/session-store.ts'
import type { TwoStores } from './two-stores.ts'

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

const bytesOf = (session: Session): number => sessionBytes(sessionTexts(session))

/** Writes a session whatever there was. */
async function put(store: SessionStore, uid: string, session: Session, nowMs = NOW): Promise<void> {
  await store.change(uid, session.id, nowMs, () => ({ result: undefined, session }))
}

/** What every store of sessions guarantees. */
export function sessionStoreContract(open: (bounds?: SessionSums) => Promise<TwoStores<SessionStore>>): void {
  let opened: TwoStores<SessionStore> | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  async function stores(bounds?: SessionSums): Promise<readonly [SessionStore, SessionStore]> {
    opened = await open(bounds)
    return opened.stores
  }

  test('another instance reads what was written, and another user does not', async () => {
    const [store, other] = await stores()
    await put(store, 'ann', sessionOf('s1'))
    expect(await other.read('ann', 's1')).toEqual(sessionOf('s1'))
    expect(await other.read('bob', 's1')).toBeUndefined()
    expect(await other.read('ann', 's2')).toBeUndefined()
  })

  test('a change sees what there is, and can write, delete or leave it', async () => {
    const [store, other] = await stores()
    await put(store, 'ann', sessionOf('s1'))
    const locked = sessionOf('s1', { lockedAt: '2026-11-22T12:01:00.000Z' })
    expect(await other.change('ann', 's1', NOW, (before) => ({ result: before, session: locked }))).toEqual(
      sessionOf('s1'),
    )
    expect(await store.change('ann', 's1', NOW, (before) => ({ result: before }))).toEqual(locked)
    expect(await store.read('ann', 's1')).toEqual(locked)
    await store.change('ann', 's1', NOW, () => ({ result: undefined, session: null }))
    expect(await other.read('ann', 's1')).toBeUndefined()
  })

  test('a plan that throws writes nothing, and its error reaches the caller', async () => {
    const [store] = await stores()
    const refused = store.change('ann', 's1', NOW, () => {
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await store.read('ann', 's1')).toBeUndefined()
  })

  test('of changes at the same time, each sees the one before', async () => {
    const [store, other] = await stores()
    const seen = await Promise.all(
      Array.from({ length: 4 }, (_, at) =>
        (at % 2 ? store : other).change('ann', 's1', NOW, (before) => ({
          result: before?.key,
          session: before ? { ...before, key: `${before.key}x` } : sessionOf('s1', { key: '' }),
        })),
      ),
    )
    // An undefined element is sorted last.
    expect(seen.toSorted()).toEqual(['', 'x', 'xx', undefined])
  })

  test('a page has the sessions of one user after an id, in the order of code units, without their tools', async () => {
    const [store] = await stores()
    for (const id of ['b', 'a', 'B', 'a:1', 'a-1']) await put(store, 'ann', sessionOf(id))
    await put(store, 'bob', sessionOf('c'))
    const idsAfter = async (after: string | undefined, limit: number): Promise<readonly string[]> =>
      (await store.page('ann', after, limit)).map(({ id }) => id)
    expect(await idsAfter(undefined, 10)).toEqual(['B', 'a', 'a-1', 'a:1', 'b'])
    expect(await idsAfter('a', 2)).toEqual(['a-1', 'a:1'])
    expect(await idsAfter('aa', 2)).toEqual(['b'])
    expect(await store.page('ann', 'a:1', 1)).toEqual([headOf(sessionOf('b'))])
  })

  test('a user has at most so many sessions; those that are over make room', async () => {
    const [store] = await stores({ sessions: 2, bytes: 1_000_000 })
    await put(store, 'ann', sessionOf('s1', { usedAtMs: NOW - 1_000 }))
    await put(store, 'ann', sessionOf('s2'))
    await put(store, 'bob', sessionOf('s1'))
    await expect(put(store, 'ann', sessionOf('s3'))).rejects.toMatchObject({ code: 'SESSIONS_FULL' })
    await put(store, 'ann', sessionOf('s2', { model: 'another' }))
    const over = endOf({ usedAtMs: NOW - 1_000 })
    await put(store, 'ann', sessionOf('s3', { usedAtMs: over }), over)
    expect((await store.page('ann', undefined, 9)).map(({ id }) => id)).toEqual(['s2', 's3'])
  })

  test('the sessions of a user have at most so many bytes; a change to fewer is never refused', async () => {
    const large = sessionOf('s1', {
      tools: Array.from({ length: 50 }, (_, at) => ({ name: `t${at}`, digest: null })),
    })
    const [store] = await stores({ sessions: 9, bytes: bytesOf(large) })
    await put(store, 'ann', large)
    await expect(put(store, 'ann', sessionOf('s2'))).rejects.toMatchObject({ code: 'SESSIONS_FULL' })
    await put(store, 'ann', sessionOf('s1'))
    await put(store, 'bob', large)
    expect(await store.read('ann', 's1')).toEqual(sessionOf('s1'))
  })
}
