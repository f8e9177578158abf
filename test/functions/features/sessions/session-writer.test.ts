import { expect, jest, test } from '@jest/globals'
import type { SessionStore } from '../../../../functions/src/features/sessions/session-store.ts'
import { SessionWriter } from '../../../../functions/src/features/sessions/session-writer.ts'
import type { AskedSession } from '../../../../functions/src/features/sessions/session-writer.ts'
import { Sessions } from '../../../../functions/src/features/sessions/sessions.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { memoryStores } from '../../../support/memory-governance.ts'
import { sessionOf } from './store.contract.ts'

const NOW = sessionOf('s').usedAtMs
const ANYTHING: AskedSession = {
  model: null,
  agent: null,
  workflow: null,
  room: null,
  parent: null,
  lockDigests: false,
  selection: 'all',
}

type Racing = Pick<SessionStore, 'open' | 'read' | 'change'>

/** A writer over a real store. `before` runs before each change of the store, as another instance that is faster. */
function opened(before: (store: SessionStore) => Promise<unknown> = () => Promise.resolve()) {
  const store = memoryStores(() => NOW).sessions
  const racing: Racing = {
    open: undefined,
    read: store.read,
    async change(uid, id, plan) {
      await before(store)
      return store.change(uid, id, plan)
    },
  }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const sessions = new Sessions({ store: racing, log, now: () => NOW })
  const writer = new SessionWriter({ store: racing, sessions, now: () => NOW })
  const view = catalogView({ file: ['a', 'b', 'c'].map((name) => tool(name)) })
  const target = { uid: 'ann', id: 's', viewOf: () => view }
  return { store, racing, writer, sessions, target }
}

test('a lock takes the selection that another instance has written since it was read', async () => {
  let left = 2
  const { store, writer, target } = opened(async (shared) => {
    left -= 1
    const session =
      left === 1
        ? sessionOf('s')
        : left === 0
          ? sessionOf('s', { tools: [{ name: 'b', digest: null }] })
          : undefined
    if (session) await shared.change('ann', 's', () => ({ result: undefined, session }))
  })
  await store.change('ann', 's', () => ({
    result: undefined,
    session: sessionOf('s', { model: 'first' }),
  }))
  const { tools } = await writer.lock(target, undefined)
  expect(tools.map(({ name }) => name)).toEqual(['b'])
})

test('a session that changes again and again is not locked with an old selection', async () => {
  let count = 0
  const { store, writer, target } = opened((shared) => {
    count += 1
    const session = sessionOf('s', { model: `model ${count}` })
    return shared.change('ann', 's', () => ({ result: undefined, session }))
  })
  await store.change('ann', 's', () => ({ result: undefined, session: sessionOf('s') }))
  await expect(writer.lock(target, undefined)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect((await store.read('ann', 's'))?.lockedAt).toBeNull()
})

test('a session that another instance deletes during the lock is not found', async () => {
  const { store, writer, target } = opened((shared) =>
    shared.change('ann', 's', () => ({ result: undefined, session: null })),
  )
  await store.change('ann', 's', () => ({ result: undefined, session: sessionOf('s') }))
  await expect(writer.lock(target, undefined)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

test('a write of a session that another instance has locked is refused', async () => {
  const locked = sessionOf('s', { lockedAt: new Date(NOW).toISOString() })
  const { store, writer, target } = opened((shared) =>
    shared.change('ann', 's', () => ({ result: undefined, session: locked })),
  )
  await expect(writer.put(target, { ...ANYTHING, selection: ['a'] }, {})).rejects.toMatchObject({
    code: 'SESSION_LOCKED',
  })
  expect(await store.read('ann', 's')).toEqual(locked)
})

test('an own write applies to the next use, without a read', async () => {
  const { writer, sessions, target } = opened()
  await writer.put(target, { ...ANYTHING, selection: ['a'] }, {})
  const selection = sessions.selectionOf('ann', 's')
  expect(selection).not.toBeInstanceOf(Promise)
  expect((await selection).names).toEqual(new Set(['a']))
})

test('nothing is chosen or locked as long as a layer is lost, because a list of it would be incomplete for good', async () => {
  const { writer, target } = opened()
  const lost = { ...target, viewOf: () => catalogView({ file: 'error' }) }
  await writer.put(target, ANYTHING, {})
  await expect(writer.lock(lost, undefined)).rejects.toMatchObject({ code: 'LAYER_UNAVAILABLE' })
  await expect(writer.lock(lost, ['a'])).rejects.toMatchObject({ code: 'LAYER_UNAVAILABLE' })
  expect((await writer.lock(target, undefined)).tools).toHaveLength(3)
})

test('a catalog of more than 5,000 tools cannot be locked as a whole', async () => {
  const { writer, target } = opened()
  const large = catalogView({ file: Array.from({ length: 5_001 }, (_, at) => tool(`t${at}`)) })
  await writer.put(target, ANYTHING, {})
  const locked = writer.lock({ ...target, viewOf: () => large }, undefined)
  await expect(locked).rejects.toMatchObject({ code: 'SELECTION_INVALID' })
})

test('a parent that is deleted while a child is written stays deleted', async () => {
  const { store, racing, writer, sessions, target } = opened()
  await store.change('ann', 'p', () => ({ result: undefined, session: sessionOf('p') }))
  const deleted = Promise.withResolvers<void>()
  const slowRead: SessionStore['read'] = async (uid, id) => {
    const session = await store.read(uid, id)
    await deleted.promise
    return session
  }
  jest.spyOn(racing, 'read').mockImplementationOnce(slowRead)
  const putting = writer.put(target, { ...ANYTHING, parent: 'p' }, {})
  await writer.delete('ann', 'p', {})
  deleted.resolve()
  await expect(putting).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await expect(sessions.selectionOf('ann', 'p')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})
