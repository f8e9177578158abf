import { expect, test } from '@jest/globals'
import type { RequestListener, ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import { listen, stopListening } from '../../../../functions/src/hosts/local/listen.ts'
import { EXIT } from '../../../../functions/src/hosts/local/start-error.ts'
import { rawConnection, rawExchange, readAnswer } from '../../../support/raw-http.ts'
import { testWhere } from '../../../support/test-where.ts'

test('port 0 takes a free port, and the address can be fetched', async () => {
  const listening = await listen((_req, res) => res.end('here'), '127.0.0.1', 0)
  expect(listening.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await (await fetch(listening.url)).text()).toBe('here')
  await stopListening(listening)
  await expect(fetch(listening.url)).rejects.toThrow()
})

const hasIpv6 = Object.values(networkInterfaces()).some((faces) =>
  faces?.some(({ address }) => address === '::1'),
)
testWhere(hasIpv6, 'there is no IPv6 loopback: an IPv6 address can not be listened on.')(
  'an IPv6 address is written with brackets',
  async () => {
    const listening = await listen((_req, res) => res.end('six'), '::1', 0)
    expect(listening.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect(await (await fetch(listening.url)).text()).toBe('six')
    await stopListening(listening)
  },
)

test('a port in use is a StartError with its exit code', async () => {
  const listening = await listen((_req, res) => res.end(), '127.0.0.1', 0)
  const port = Number(new URL(listening.url).port)
  await expect(listen((_req, res) => res.end(), '127.0.0.1', port)).rejects.toMatchObject({
    exitCode: EXIT.addressTaken,
    message: `Port ${port} on 127.0.0.1 is in use by another program; stop it, or set PORT to another one.`,
  })
  await stopListening(listening)
})

test('an answer under way is sent whole before the server stops', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  const listening = await listen((_req, res) => asked.resolve(res), '127.0.0.1', 0)
  const pending = fetch(listening.url).then((answer) => answer.text())
  const res = await asked.promise
  const stopped = stopListening(listening)
  res.end('late')
  expect(await pending).toBe('late')
  await stopped
})

test('what is no HTTP never reaches the application', async () => {
  let requests = 0
  const listening = await listen(
    (_req, res) => {
      requests += 1
      res.end()
    },
    '127.0.0.1',
    0,
  )
  const sent = [
    '\r\n\r\nnonsense\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    `GET / HTTP/1.1\r\nA: ${'x'.repeat(100_000)}\r\n\r\n`,
  ]
  for (const text of sent) expect((await rawExchange(listening.url, text)).status).toBeGreaterThanOrEqual(400)
  expect(requests).toBe(0)
  const gone = await rawConnection(listening.url)
  gone.resetAndDestroy()
  expect((await fetch(listening.url)).status).toBe(200)
  await stopListening(listening)
})

/** Stops also where an expectation fails. */
async function served(app: RequestListener): Promise<{ readonly url: string } & AsyncDisposable> {
  const listening = await listen(app, '127.0.0.1', 0)
  return { url: listening.url, [Symbol.asyncDispose]: () => stopListening(listening) }
}

const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'

test('a body that turns out to be malformed when its request is answered already gets no second answer', async () => {
  await using listening = await served((_req, res) => res.end('first'))
  for (const broken of ['no chunk\r\n', '0\r\nContent-Length: 5\r\n\r\n']) {
    const { body } = await rawExchange(listening.url, `${CHUNKED}${broken}`)
    expect(body).toBe('first')
  }
  const expecting = CHUNKED.replace('Host: x', 'Host: x\r\nExpect: more')
  expect((await rawExchange(listening.url, `${expecting}no chunk\r\n`)).body).toMatch(/^\{"error":.*\}\n$/)
  const socket = await rawConnection(listening.url)
  socket.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
  expect((await readAnswer(socket)).body).toBe('first')
})

test('a body that is malformed before its request is answered gets one answer: that', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  await using listening = await served((_req, res) => asked.resolve(res))
  const answer = rawExchange(listening.url, `${CHUNKED}no chunk\r\n`)
  expect(await answer).toMatchObject({ status: 400, body: expect.stringMatching(/^\{"error":.*\}\n$/) })
  const late = await asked.promise
  late.end('late')
})

test('what is malformed behind a request is answered behind the answer to it, once', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  await using listening = await served((_req, res) => asked.resolve(res))
  const socket = await rawConnection(listening.url)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n')
  const res = await asked.promise
  socket.write('more nonsense')
  res.end('first')
  const { status, body } = await readAnswer(socket)
  expect(status).toBe(200)
  expect(body).toMatch(/^firstHTTP\/1\.1 400 Bad Request\r\n/)
  expect(body.match(/HTTP\/1\.1/g)).toHaveLength(1)
})
