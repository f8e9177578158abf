import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { listen, stopListening } from '../../../../functions/src/hosts/local/listen.ts'
import type { Limits } from '../../../../functions/src/hosts/local/listen.ts'
import { sendError } from '../../../../functions/src/http/send-error.ts'
import { slowBody } from '../../../../functions/src/http/slow-body.ts'
import { EXIT } from '../../../../functions/src/hosts/local/start-error.ts'
import { rawConnection, rawExchange, readAnswer } from '../../../support/raw-http.ts'
import { testWhere } from '../../../support/test-where.ts'
import { until } from '../../../support/until.ts'

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

test('an address that is not of this machine is a StartError with its exit code', async () => {
  await expect(listen((_req, res) => res.end(), '203.0.113.1', 0)).rejects.toMatchObject({
    exitCode: EXIT.addressTaken,
    message:
      '203.0.113.1 port 0 cannot be used (EADDRNOTAVAIL); set HOST and PORT to an address of this machine.',
  })
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
async function served(
  app: RequestListener,
  limits?: Limits,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const listening = await listen(app, '127.0.0.1', 0, limits)
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

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('requests that come together are handled one after another, and those of a reader who reads nothing are not', async () => {
  let handled = 0
  const large = Buffer.alloc(12 * 1024 * 1024, 'x')
  await using listening = await served((_req, res) => {
    handled += 1
    res.end(large)
  })
  const socket = await rawConnection(listening.url)
  socket.pause().write(GET.repeat(5_000))
  await until(
    () => Promise.resolve(handled),
    (count) => count > 0,
  )
  for (let other = 0; other < 5; other += 1) await (await fetch(listening.url)).bytes()
  expect(handled).toBe(6)
  socket.resume()
  await until(
    () => Promise.resolve(handled),
    (count) => count > 8,
  )
  socket.destroy()
})

test('the answers to requests that come together come in their order, however long each takes', async () => {
  const waiting: (() => void)[] = []
  let active = 0
  await using listening = await served((req, res) => {
    active += 1
    waiting.push(() => {
      active -= 1
      res.end(req.url)
    })
  })
  const socket = await rawConnection(listening.url)
  const count = 3_000
  const asks = Array.from({ length: count }, (_, n) => GET.replace('/', `/${n}.`))
  socket.write(asks.join('').replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'))
  const answer = readAnswer(socket)
  let mostActive = 0
  for (let n = 0; n < count; n += 1) {
    while (waiting.length === 0) await setImmediate()
    mostActive = Math.max(mostActive, active)
    waiting.shift()?.()
  }
  const { body } = await answer
  expect(`\r\n\r\n${body}`.match(/(?<=\r\n\r\n)\/\d+(?=\.)/g)?.map((path) => Number(path.slice(1)))).toEqual(
    asks.map((_, n) => n),
  )
  expect(mostActive).toBe(1)
})

test('a reader who takes nothing of an answer is cut, and one who waits for a slow answer is not', async () => {
  const slow = Promise.withResolvers<ServerResponse>()
  const unread = Promise.withResolvers<ServerResponse>()
  await using listening = await served(
    ({ url }, res) => {
      if (url === '/slow') {
        slow.resolve(res)
        return
      }
      unread.resolve(res)
      res.end(Buffer.alloc(64 * 1024 * 1024))
    },
    { unreadMs: 2_000 },
  )
  const patient = fetch(`${listening.url}/slow`)
  const late = await slow.promise
  const socket = await rawConnection(listening.url)
  socket.on('error', () => undefined)
  socket.pause().write(GET)
  const cut = once(await unread.promise, 'close')
  const waiting = fetch(listening.url)
  expect((await (await waiting).bytes()).length).toBe(64 * 1024 * 1024)
  await cut
  late.end('late')
  expect(await (await patient).text()).toBe('late')
  const closed = once(socket, 'close')
  socket.resume()
  await closed
  expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024)
}, 60_000)

test('connections that send nothing give way to those that come after them', async () => {
  await using listening = await served((_req, res) => res.end('here'), { connections: 8 })
  const silent = await Promise.all(Array.from({ length: 20 }, () => rawConnection(listening.url)))
  for (const socket of silent) socket.on('error', () => undefined)
  expect(await (await fetch(listening.url)).text()).toBe('here')
  for (const socket of silent) socket.destroy()
})

test('a connection is not read further while requests of it wait', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  await using listening = await served(({ url }, res) => {
    if (url === '/first') asked.resolve(res)
    else res.end('other')
  })
  const socket = await rawConnection(listening.url)
  socket.on('error', () => undefined)
  socket.write(GET.replace('/', '/first'))
  socket.write(GET.replace('x', `x\r\nA: ${'a'.repeat(10_000)}`).repeat(3_000))
  const { req } = await asked.promise
  for (let other = 0; other < 50; other += 1) await (await fetch(`${listening.url}/other`)).text()
  expect(req.socket.bytesRead).toBeLessThan(1024 * 1024)
  socket.destroy()
})

const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n'
const read: RequestListener = (req, res) => {
  req.resume()
  req.once('end', () => res.end('read'))
}

/** Reads a slow body, and answers its text or the code and the message of its error. */
const readSlowly =
  (times: Parameters<typeof slowBody>[1], begun: () => void = () => undefined): RequestListener =>
  (req, res) =>
    void (async () => {
      let text = ''
      try {
        for await (const piece of slowBody(req, times)) {
          text += Buffer.from(piece).toString()
          begun()
        }
        res.end(text)
      } catch (error) {
        sendError(res, error, { info: () => undefined, warn: () => undefined, error: () => undefined })
      }
    })()

test('a request that does not arrive in time is told so', async () => {
  await using listening = await served(read, { requestMs: 20 })
  const { status, body } = await rawExchange(listening.url, `${POST}12`)
  expect(status).toBe(400)
  expect(JSON.parse(body)).toMatchObject({
    error: {
      message: expect.stringContaining('did not arrive in time'),
      details: [{ reason: 'REQUEST_MALFORMED' }],
    },
  })
})

test('a slow body may take longer than other requests', async () => {
  const begun = Promise.withResolvers<void>()
  const slowly = readSlowly({ wholeMs: 60_000 }, begun.resolve)
  await using listening = await served((req, res) => (req.url === '/' ? slowly : read)(req, res), {
    requestMs: 20,
  })
  const socket = await rawConnection(listening.url)
  socket.write(`${POST}12`)
  await begun.promise
  // When the server refuses another request that came later, the time of the first one is over.
  await rawExchange(listening.url, POST.replace('/', '/other'))
  socket.end('34')
  expect(await readAnswer(socket)).toMatchObject({ status: 200, body: '1234' })
})

test.each([
  ['of which nothing comes', { wholeMs: 60_000, idleMs: 20 }, 'No byte'],
  ['that takes too long', { wholeMs: 20, idleMs: 60_000 }, 'longer than it may'],
])('a slow body %s is refused, and its connection ends', async (_what, times, message) => {
  await using listening = await served(readSlowly(times))
  const { status, head, body } = await rawExchange(listening.url, `${POST}12`)
  expect([status, body]).toEqual([400, expect.stringContaining(message)])
  expect(head).toMatch(/^connection: close$/im)
})
