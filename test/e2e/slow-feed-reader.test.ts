import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { feedReader, type FeedEvent } from '../support/change-events.ts'
import { tool } from '../support/definition-changes.ts'
import { rawConnection } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

let server: Server
beforeAll(async () => (server = await Server.start()))
afterAll(() => server[Symbol.asyncDispose]())

/** Enough names that one event is larger than what is not counted as unread. */
const NAMES = Array.from({ length: 400 }, (_, at) => `${'n'.repeat(120)}${at}`)
/** A name, a digest and their keys, 400 times. */
const EVENT_BYTES = 90_000
const FEED = '/workflows/tools/changes?session=slow'
const EVENTS = { Accept: 'text/event-stream' }

async function write(method: string, path: string, body: object): Promise<void> {
  const answer = await server.fetch(`/workflows/${path}`, { method, body: JSON.stringify(body) })
  expect([200, 201]).toContain(answer.status)
  await answer.arrayBuffer()
}

const select = (selection: string) => write('PUT', 'sessions/slow', { selection })

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
  socket.write([`GET ${FEED} HTTP/1.1`, ...headers, '', ''].join('\r\n'))
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
    await write('POST', 'tools/defs', some.map((name) => tool(name)) as object)
  await select('none')
  const fast = feedReader(await server.fetch(FEED, { headers: EVENTS }))
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
  await write('PUT', 'tools/defs/last', tool('last'))
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
