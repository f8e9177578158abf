import { afterAll, expect, test } from '@jest/globals'
import type { Socket } from 'node:net'
import { invoke } from '../support/invocation.ts'
import { rawConnection } from '../support/raw-http.ts'
import { isAlive } from '../support/processes.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { whilePending } from '../support/while-pending.ts'

/** The heap of the Cloud Functions, and somewhat fewer requests than one of them takes at the same time. */
const server = await Server.start({ env: { NODE_OPTIONS: '--max-old-space-size=512' } })
const { pid } = server
afterAll(() => server[Symbol.asyncDispose]())
const AT_ONCE = 64

/** 1 MB of calls that take 25 MB when they are parsed. */
const CALLS = JSON.stringify(
  Array.from({ length: 4 }, (_, index) => ({
    type: 'tool_use',
    id: `c${index}`,
    name: 'ECHO',
    input: { a: Array.from({ length: 84_000 }, () => ({})) },
  })),
)
const dispatched = async (): Promise<number> => {
  const answer = await server.fetch('/workflows/tools/dispatch', { method: 'POST', body: CALLS })
  const { status } = answer
  await answer.arrayBuffer()
  return status
}
const listed = async (): Promise<void> => {
  expect((await server.fetch('/workflows/tools/list')).status).toBe(200)
}

test('64 dispatches of 1 MB at once are answered or refused, others list meanwhile, and the service goes on', async () => {
  const all = Promise.all(Array.from({ length: AT_ONCE }, dispatched))
  expect(await whilePending(all, listed)).toBeGreaterThan(0)
  const statuses = await all
  expect([...new Set(statuses)].toSorted()).toEqual([200, 429])
  expect(isAlive(pid)).toBe(true)
  expect(await dispatched()).toBe(200)
})

/** A request whose client has sent its head and this part of its body. */
async function begun(path: string, length: number, part: string): Promise<Socket> {
  const socket = await rawConnection(server.url)
  socket.on('error', () => undefined)
  const head = `Authorization: Bearer ${server.token}\r\nContent-Length: ${length}`
  socket.write(`POST /workflows/tools/${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${part}`)
  return socket
}

const invoked = (body: string): Promise<Response> => invoke(server, undefined, { body })

test('a large call beside many is refused with a result that a model can be handed, and a small one is answered', async () => {
  const call = JSON.stringify({ name: 'ECHO', arguments: { text: 'a' } })
  const large = (): Promise<Response> => invoked(call.padEnd(250_000))
  const held = await Promise.all(Array.from({ length: AT_ONCE }, () => begun('invoke', 250_000, '{')))
  const refused = await until(large, ({ status }) => status !== 200)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({ resultType: 'failure', code: 'SERVICE_BUSY' })
  expect((await invoked(call)).status).toBe(200)
  for (const socket of held) socket.destroy()
  expect((await until(large, ({ status }) => status !== 429)).status).toBe(200)
})

test('after 200 dispatches whose clients have gone, one is taken', async () => {
  for (let count = 0; count < 200; count += 1) {
    const socket = await begun(
      'dispatch',
      CALLS.length,
      CALLS.slice(0, Math.ceil((CALLS.length * (count % 5)) / 4)),
    )
    socket.end(() => socket.destroy())
  }
  expect(await until(dispatched, (status) => status !== 429)).toBe(200)
  expect(isAlive(pid)).toBe(true)
})
