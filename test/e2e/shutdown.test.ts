import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { rawConnection, readAnswer } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

/** Whether the server takes no new connections any more. */
async function refusesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const refused = await Promise.race([
    once(socket, 'connect').then(() => false),
    once(socket, 'error').then(() => true),
  ]).catch(() => true)
  socket.destroy()
  return refused
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s lets a request under way finish, and its write is kept',
  async (signal) => {
    await using server = await Server.start()
    const body = '{"description":"Written while stopping."}'
    const socket = await rawConnection(server.url)
    const head = `PUT /workflows/tools/defs/late HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n`
    socket.write(`${head}Authorization: Bearer ${server.token}\r\n\r\n`)
    const [goOn] = (await once(socket, 'data')) as [Buffer]
    expect(goOn.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')

    server.signal(signal)
    await until(
      () => refusesConnections(server.url),
      (refused) => refused,
    )
    socket.write(body)
    expect(await readAnswer(socket)).toMatchObject({ status: 201 })
    expect(await server.ended()).toMatchObject({ code: 0, stderr: '' })
    await server.restart()
    expect((await server.fetch('/workflows/tools/defs/late')).status).toBe(200)
  },
)

test('connections that are kept open do not keep a stopping server', async () => {
  await using server = await Server.start()
  const kept = await Promise.all([1, 2, 3].map(() => rawConnection(server.url)))
  for (const socket of kept) {
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
  }
  const closed = kept.map((socket) => once(socket.resume(), 'close'))
  expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
  await Promise.all(closed)
})

test('a request that never ends does not keep a stopping server for ever', async () => {
  await using server = await Server.start()
  const socket = await rawConnection(server.url)
  const head =
    'PUT /workflows/tools/defs/never HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n'
  socket.write(`${head}Authorization: Bearer ${server.token}\r\n\r\n`)
  await once(socket, 'data')
  expect(await server.stop()).toMatchObject({ code: 0 })
  socket.destroy()
})

test('a second signal while stopping changes nothing', async () => {
  await using server = await Server.start()
  server.signal('SIGINT')
  server.signal('SIGINT')
  server.signal('SIGTERM')
  expect(await server.ended()).toMatchObject({ code: 0, stderr: '' })
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends the server while npm start still holds the parent pipe',
  async (signal) => {
    await using server = await Server.start({ args: ['--parent-pipe=3'] })
    server.signal(signal)
    expect(await server.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
  },
)
