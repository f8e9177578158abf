import { expect, test } from '@jest/globals'
import type { ToolChanges } from '../../../../functions/src/features/changes/tool-changes.ts'
import { feedReader } from '../../../support/change-events.ts'
import { tool } from '../../../support/definition-changes.ts'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'
import { firestoreService, type FirestoreService } from '../../../support/firestore-service.ts'
import { until } from '../../../support/until.ts'

const EVENTS = { headers: { Accept: 'text/event-stream' } }
const CHANGES = '/workflows/tools/changes'

async function write(service: FirestoreService, name: string, description?: string, layer = 'user') {
  const body = JSON.stringify(tool(name, description))
  const path = `/workflows/tools/defs/${name}?layer=${layer}`
  expect([200, 201]).toContain((await service.fetch(path, { method: 'PUT', body })).status)
}

/** The first answer that does not refuse for a lost layer. On a busy machine the first reads of an instance can be late. */
function changesAt(service: FirestoreService, query = '', init?: RequestInit): Promise<Response> {
  return until(
    () => service.fetch(`${CHANGES}${query}`, init),
    ({ status }) => status !== 503,
  )
}

const json = async (answer: Response): Promise<ToolChanges> => (await answer.json()) as ToolChanges

describeOnEmulator('changes of several instances over Firestore', () => {
  test('a write of one instance is an event on the other, for the layer of the user and for that of all', async () => {
    const projectId = newProject()
    await using one = await firestoreService(connectionTo(projectId), { hasRules: true })
    await using other = await firestoreService(connectionTo(projectId), { hasRules: true })
    const next = feedReader(await changesAt(other, '', EVENTS))
    expect(await next()).toMatchObject({ data: { added: [], changed: [], removed: [] } })
    await write(one, 'mine')
    expect(await next()).toMatchObject({ data: { added: [{ name: 'mine' }] } })
    await write(one, 'ours', undefined, 'global')
    expect(await next()).toMatchObject({ data: { added: [{ name: 'ours' }] } })
    const body = JSON.stringify({ rules: [{ effect: 'deny', tool: 'ours' }] })
    await one.fetch('/workflows/rules/user/ann', { method: 'PUT', body })
    expect(await next()).toMatchObject({ data: { added: [], changed: [], removed: ['ours'] } })
  })

  test('a change of a session or of a scope on one instance is an event on the other, and so is its end', async () => {
    const projectId = newProject()
    await using one = await firestoreService(connectionTo(projectId), { hasRules: true })
    await using other = await firestoreService(connectionTo(projectId), { hasRules: true })
    const set = (path: string, body: object) =>
      one.fetch(`/workflows/${path}`, { method: 'PUT', body: JSON.stringify(body) })
    for (const name of ['a', 'b', 'c']) await write(one, name)
    await set('sessions/s', { selection: ['a', 'b'], room: 'hall' })
    const next = feedReader(await changesAt(other, '?session=s', EVENTS))
    expect(await next()).toMatchObject({ data: { added: [], changed: [], removed: [] } })
    await set('sessions/s', { selection: ['b', 'c'], room: 'hall' })
    expect(await next()).toMatchObject({ data: { added: [{ name: 'c' }], changed: [], removed: ['a'] } })
    await set('scopes/room/hall', { scope: 'b' })
    const narrowed = await next()
    expect(narrowed).toMatchObject({ data: { added: [], changed: [], removed: ['c'] } })
    const since = narrowed?.id ?? ''
    await using late = await firestoreService(connectionTo(projectId), { hasRules: true })
    await write(one, 'b', 'Other.')
    expect(await json(await changesAt(late, `?session=s&since=${since}`))).toMatchObject({
      added: [],
      changed: [{ name: 'b' }],
      removed: [],
    })
    expect(await next()).toMatchObject({ data: { changed: [{ name: 'b' }] } })
    expect((await one.fetch('/workflows/sessions/s', { method: 'DELETE' })).status).toBe(204)
    expect(await next()).toBeUndefined()
    // The other instance has seen the end, so it needs no second for this answer.
    expect((await other.fetch(`${CHANGES}?session=s`)).status).toBe(404)
  })

  test('an instance that has seen nothing answers since an older revision, and refuses one of another store', async () => {
    const projectId = newProject()
    await using one = await firestoreService(connectionTo(projectId))
    await write(one, 'kept')
    await write(one, 'going')
    const since = (await json(await changesAt(one))).revision
    await write(one, 'kept', 'Other.')
    await write(one, 'coming')
    await one.fetch('/workflows/tools/defs/going', { method: 'DELETE' })
    await using late = await firestoreService(connectionTo(projectId))
    expect(await json(await changesAt(late, `?since=${since}`))).toMatchObject({
      added: [{ name: 'coming' }],
      changed: [{ name: 'kept' }],
      removed: ['going'],
    })
    await using stranger = await firestoreService(connectionTo(newProject()))
    await write(stranger, 'kept')
    expect((await changesAt(stranger, `?since=${since}`)).status).toBe(410)
  })
})
