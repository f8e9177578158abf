import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { feedReader } from '../support/change-events.ts'
import { tool } from '../support/definition-changes.ts'
import { Server } from '../support/server.ts'
import type { ToolChanges } from '../../functions/src/features/changes/tool-changes.ts'

let server: Server
beforeAll(async () => {
  server = await Server.start()
  for (const name of ['A', 'B', 'C']) await write(`tools/defs/${name}`, tool(name))
})
afterAll(() => server[Symbol.asyncDispose]())

const EVENTS = { headers: { Accept: 'text/event-stream' } }

async function write(path: string, body: object): Promise<void> {
  const init = { method: 'PUT', body: JSON.stringify(body), headers: server.approver }
  const answer = await server.fetch(`/workflows/${path}`, init)
  expect([200, 201]).toContain(answer.status)
}

const drop = (path: string) => server.fetch(`/workflows/${path}`, { method: 'DELETE' })
const changes = (query: string, init = {}) => server.fetch(`/workflows/tools/changes?${query}`, init)

async function feed(query: string) {
  const next = feedReader(await changes(query, EVENTS))
  const first = await next()
  expect(first).toMatchObject({ event: 'changes', data: { added: [], changed: [], removed: [] } })
  return next
}

const told = (names: { added?: string[]; changed?: string[]; removed?: string[] }) => ({
  event: 'changes',
  data: {
    added: (names.added ?? []).map((name) => expect.objectContaining({ name })),
    changed: (names.changed ?? []).map((name) => expect.objectContaining({ name })),
    removed: names.removed ?? [],
  },
})

async function revision(query: string): Promise<string> {
  const list = await server.fetch(`/workflows/tools/list?${query}`)
  expect(list.status).toBe(200)
  await list.arrayBuffer()
  return list.headers.get('X-Tools-Revision') ?? ''
}

test('a change of the selection, of the stored scope of its room, and of its rules is told', async () => {
  await write('sessions/all', { selection: ['A', 'B'], room: 'hall' })
  const next = await feed('session=all')
  await write('sessions/all', { selection: ['B', 'C'], room: 'hall' })
  expect(await next()).toMatchObject(told({ added: ['C'], removed: ['A'] }))
  await write('tools/defs/A', tool('A', 'Nobody in the session is told.'))
  await write('tools/defs/B', tool('B', 'Other.'))
  expect(await next()).toMatchObject(told({ changed: ['B'] }))
  await write('scopes/room/hall', { scope: '!C' })
  expect(await next()).toMatchObject(told({ removed: ['C'] }))
  await drop('scopes/room/hall')
  expect(await next()).toMatchObject(told({ added: ['C'] }))
  await write('rules/session/all', { rules: [{ effect: 'deny', tool: 'C' }] })
  const last = await next()
  expect(last).toMatchObject(told({ removed: ['C'] }))
  expect(last?.id).toBe(await revision('session=all'))
})

test('the tools by which a model finds others are told only to a feed that asks for them, as lists have them', async () => {
  await write('sessions/finding', { selection: 'none' })
  const [plain, finding] = [await feed('session=finding'), await feed('session=finding&with=search')]
  await write('sessions/finding', { selection: ['A', 'search_tools', 'load_tools'] })
  expect(await plain()).toMatchObject(told({ added: ['A'] }))
  expect(await finding()).toMatchObject(told({ added: ['A', 'load_tools', 'search_tools'] }))
})

test('a session that is deleted ends its feeds with the reason', async () => {
  await write('sessions/short', { selection: ['A'] })
  const answer = await changes('session=short', EVENTS)
  const poll = changes(`session=short&since=${await revision('session=short')}`)
  expect((await drop('sessions/short')).status).toBe(204)
  expect(await answer.text()).toMatch(/\nevent: gone\ndata: .*SESSION_NOT_FOUND.*\n\n$/)
  expect((await poll).status).toBe(404)
  const again = await changes('session=short', EVENTS)
  expect(again.status).toBe(404)
  expect(await again.text()).toContain('SESSION_NOT_FOUND')
})

test('a stored scope that is named ends the feed when it is deleted', async () => {
  await write('scopes/agent/cook', { scope: 'A' })
  const answer = await changes('scope=ref:agent/cook', EVENTS)
  await drop('scopes/agent/cook')
  expect(await answer.text()).toContain('SCOPE_NOT_FOUND')
})

test('a written scope narrows what a feed tells', async () => {
  const next = await feed('scope=A,NEW*')
  await write('tools/defs/OTHER', tool('OTHER'))
  await write('tools/defs/NEW_ONE', tool('NEW_ONE'))
  expect(await next()).toMatchObject(told({ added: ['NEW_ONE'] }))
  for (const name of ['OTHER', 'NEW_ONE']) await drop(`tools/defs/${name}`)
})

test('the revision of a list with a session is a since, and so is that of the list before another selection', async () => {
  await write('sessions/since', { selection: ['A', 'B'] })
  const first = await revision('session=since')
  await write('sessions/since', { selection: ['B', 'C'] })
  const changed = (await (await changes(`session=since&since=${first}`)).json()) as ToolChanges
  expect(changed).toMatchObject(told({ added: ['C'], removed: ['A'] }).data)
  expect(changed.revision).toBe(await revision('session=since'))
})

test('without a session before, and with one now, the changes are those of the two lists', async () => {
  await write('sessions/from', { selection: ['A'] })
  const answer = (await (await changes(`session=from&since=${await revision('')}`)).json()) as ToolChanges
  expect(answer.added).toEqual([])
  expect(answer.removed).toEqual(expect.arrayContaining(['B', 'C']))
  expect(answer.removed).not.toContain('A')
})

test('after a restart the present selection goes on, and a past one is a 410 or a reset', async () => {
  await write('sessions/kept', { selection: ['A', 'B'] })
  const past = await revision('session=kept')
  await write('sessions/kept', { selection: ['A', 'B', 'C'] })
  const present = await revision('session=kept')
  await server.stop()
  await server.restart()
  await write('tools/defs/C', tool('C', 'After the restart.'))
  const goesOn = (await (await changes(`session=kept&since=${present}`)).json()) as ToolChanges
  expect(goesOn).toMatchObject(told({ changed: ['C'] }).data)
  const refused = await changes(`session=kept&since=${past}`)
  expect(refused.status).toBe(410)
  const reset = await feedReader(await changes(`session=kept&since=${past}`, EVENTS))()
  expect(reset).toMatchObject({ event: 'reset', id: goesOn.revision })
})

test.each(['session=none', 'scope=ref:room/none'])('%s is a 404', async (query) => {
  expect((await changes(query, EVENTS)).status).toBe(404)
})

test.each(['session=', 'scope=a%20b%20(', 'since=0.0.f:short'])('%s is a 400', async (query) => {
  expect((await changes(query)).status).toBe(400)
})
