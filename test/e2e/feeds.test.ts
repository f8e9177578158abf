import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { feedReader, type FeedEvent } from '../support/change-events.ts'
import { tool } from '../support/definition-changes.ts'
import { rawConnection } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import type { ToolChanges } from '../../functions/src/features/changes/tool-changes.ts'

let server: Server
beforeAll(async () => {
  server = await Server.start()
  for (const name of ['A', 'B', 'C']) await write(`tools/defs/${name}`, tool(name))
})
afterAll(() => server[Symbol.asyncDispose]())

const EVENTS = { headers: { Accept: 'text/event-stream' } }

async function write(path: string, body: object, method = 'PUT'): Promise<void> {
  const init = { method, body: JSON.stringify(body), headers: server.approver }
  const answer = await server.fetch(`/workflows/${path}`, init)
  expect([200, 201]).toContain(answer.status)
  await answer.arrayBuffer()
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

/** Enough names that one event is larger than what is not counted as unread. */
const NAMES = Array.from({ length: 400 }, (_, at) => `${'n'.repeat(120)}${at}`)
/** A name, a digest and their keys, 400 times. */
const EVENT_BYTES = 90_000

/** The bytes of answers that no reader has taken. */
async function unread(): Promise<number> {
  const health = await server.fetch('/health')
  const { queues } = (await health.json()) as { readonly queues: { readonly answers: { bytes: number } } }
  return queues.answers.bytes
}

/** A reader of the feed that takes nothing until it is told to. */
async function slowReader(): Promise<Socket> {
  const socket = await rawConnection(server.url)
  const headers = ['Host: x', `Authorization: Bearer ${server.token}`, 'Accept: text/event-stream']
  socket.write(['GET /workflows/tools/changes?session=slow HTTP/1.1', ...headers, '', ''].join('\r\n'))
  // The answer has begun, so the feed knows what its reader has.
  await once(socket, 'readable')
  return socket
}

async function* eventsOf(socket: Socket): AsyncGenerator<Pick<FeedEvent, 'event' | 'data'>> {
  let text = ''
  for await (const piece of socket as AsyncIterable<Buffer>) {
    // The pieces of the chunked encoding are numbers of bytes on lines of their own, also within an event.
    text = (text + piece.toString()).replaceAll(/\r\n[0-9a-f]+\r\n/g, '')
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/m.exec(part) ?? []
      if (event !== undefined && data !== undefined)
        yield { event, data: JSON.parse(data) as FeedEvent['data'] }
    }
  }
}

test('a reader that takes nothing makes the service keep one event, and later gets what it has missed as one', async () => {
  for (const some of [NAMES.slice(0, 200), NAMES.slice(200)])
    await write('tools/defs', some.map((name) => tool(name)) as object, 'POST')
  const select = (selection: string) => write('sessions/slow', { selection })
  await select('none')
  const fast = feedReader(await changes('session=slow', EVENTS))
  await fast()
  const slow = await slowReader()
  let told = 0
  async function change(): Promise<void> {
    await select(told % 2 === 0 ? 'all' : 'none')
    const event = await fast()
    expect((event?.data.added.length ?? 0) + (event?.data.removed.length ?? 0)).toBeGreaterThanOrEqual(400)
    told += 1
  }
  await until(
    async () => (await change(), unread()),
    (bytes) => bytes > 0,
  )
  for (let more = 0; more < 20; more += 1) await change()
  const kept = await unread()
  expect(kept).toBeGreaterThan(0)
  expect(kept).toBeLessThan(4 * EVENT_BYTES)
  const events = eventsOf(slow)
  let seen = 0
  let names = 0
  // The last event of the slow reader is the difference between what it has and the present list.
  await select('all')
  await write('tools/defs/last', tool('last'))
  for await (const { data } of events) {
    seen += 1
    names += data.added.length - data.removed.length
    if (data.added.some(({ name }) => name === 'last')) break
  }
  expect(seen).toBeLessThan(told)
  const list = await server.fetch('/workflows/tools/list?session=slow')
  expect(names).toBe(((await list.json()) as object[]).length)
  slow.destroy()
})
