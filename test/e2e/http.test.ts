import { afterAll, expect, test } from '@jest/globals'
import { request } from 'node:http'
import type { ErrorBody } from '@toolrack/contract'
import { BODY_BYTES_MAX } from '../../functions/src/http/body-kinds.ts'
import { FAMILIES } from '../../functions/src/http/route.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { rawConnection, rawExchange, readAnswer } from '../support/raw-http.ts'
import { FAMILY_ROUTES } from '../support/route-table.ts'
import { Server } from '../support/server.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const auth = (): string => `Authorization: Bearer ${server.token}\r\n`

test('HEAD of the list has the headers of GET and no body', async () => {
  const get = await server.fetch('/workflows/tools/list')
  const head = await server.fetch('/workflows/tools/list', { method: 'HEAD' })
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')
  for (const name of ['etag', 'content-length', 'content-type', 'x-tools-revision', 'x-tools-layers'])
    expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)])
  const headers = { 'If-None-Match': get.headers.get('etag') ?? '' }
  expect((await server.fetch('/workflows/tools/list', { method: 'HEAD', headers })).status).toBe(304)
})

/** A whole answer but for the time of day. */
async function answerTo(path: string, headers: string): Promise<string> {
  const socket = await rawConnection(server.url)
  // Node may end the connection at once when a client has ended its half, so this one does not.
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`)
  const { head, body } = await readAnswer(socket)
  return `${head.replace(/^date: .*$/im, '')}\n${body}`
}

test.each(FAMILIES.flatMap((family) => ['list', 'explain', 'defs'].map((end) => `/${family}/tools/${end}`)))(
  '%s gives the same bytes in whichever way it is spelled, and so do its refusals',
  async (path) => {
    const search = '?name=READ_FILE&layer=file'
    const etag = (await server.fetch(path)).headers.get('etag')
    const headers = [
      auth(),
      '',
      'Authorization: Bearer wrong\r\n',
      'X-User-Id: ann\r\n',
      `${auth()}If-None-Match: ${etag}\r\n`,
    ]
    for (const sent of headers) {
      for (const query of ['', search, '?nmae=A']) {
        const exact = await answerTo(path + query, sent)
        expect(exact).toMatch(/^HTTP\/1\.1 (?:200|304|400|401) /)
        expect(await answerTo(`${path}/${query}`, sent)).toBe(exact)
        expect(await answerTo(path.toUpperCase() + query, sent)).toBe(exact)
        expect(await answerTo(`${server.url}${path}${query}`, sent)).toBe(exact)
      }
    }
  },
)

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS']
/** Errors of the original service's routes have another form; `agent-answers.test.ts` tests them. */
const PATHS = [...new Set(FAMILY_ROUTES.filter(({ isOriginal }) => !isOriginal).map(({ path }) => path))]
test.each([...PATHS.map((path) => ['workflows', path] as const), ['jobs', '/tools/list'] as const])(
  '/%s%s answers 405 with Allow to each method it does not know',
  async (family, path) => {
    const known = FAMILY_ROUTES.filter((route) => route.path === path).map(({ method }) => method)
    const others = METHODS.filter((method) => !known.some((one) => one === method))
    for (const method of others) {
      const answer = await server.fetch(`/${family}${path.replace(':name', 'READ_FILE')}`, { method })
      expect([method, answer.headers.get('allow')]).toEqual([method, known.join(', ')])
      expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 405, reason: 'METHOD_NOT_ALLOWED' })
    }
  },
)

test.each([
  ['/api/tools', 'GET'],
  ['/api/tools/READ_FILE', 'GET'],
  ['/api/tools/refresh', 'POST, GET'],
])('%s answers 405 with Allow: %s to each method it does not know', async (path, allowed) => {
  for (const method of METHODS.filter((one) => !allowed.includes(one))) {
    const answer = await server.fetch(path, { method })
    expect([method, answer.headers.get('allow')]).toEqual([method, allowed])
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 405, reason: 'METHOD_NOT_ALLOWED' })
  }
})

test('/health knows GET alone', async () => {
  const answer = await server.fetch('/health', { method: 'POST' })
  expect(answer.headers.get('allow')).toBe('GET')
  expect(answer.status).toBe(405)
})

test.each([
  '/workflows',
  '/tools/nothing',
  '/workflows/tools',
  '/workflows/tools/lists',
  '/workflows/tools/list/more',
  '/workflows/tools/defs/a/b',
  '/workflows/tools/defs/a/versions/1',
  '/other/tools/list',
  '/api',
  '/api/tools/list/more',
  '/api/tools/defs/a',
  '/workflows/jobs/tools/list',
  '//workflows/tools/list',
  '/workflows/tools/defs/../../../health',
  '/.toolrack/token',
  '/constructor',
  '/workflows/__proto__',
])('%s is a 404 in the shape of every error', async (path) => {
  const socket = await rawConnection(server.url)
  // Node may end the connection at once when a client has ended its half, so this one does not.
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${auth()}Connection: close\r\n\r\n`)
  const { status, head, body } = await readAnswer(socket)
  expect(status).toBe(404)
  expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im)
  expect(head).toMatch(/^cache-control: private, no-store$/im)
  const error = (JSON.parse(body) as ErrorBody).error
  expect(error).toEqual({
    code: 404,
    status: 'NOT_FOUND',
    message: 'There is no such route.',
    details: [{ reason: 'ROUTE_NOT_FOUND' }],
  })
})

test.each(['%', '%zz', '%c3%28', '%e0%80%80', '%ff', 'a%2'])(
  'a path with the bad percent-encoding %s is a 400, not a crash',
  async (name) => {
    for (const path of [`/workflows/tools/defs/${name}`, `/jobs/tools/defs/${name}/versions`]) {
      const answer = await errorAnswer(await server.fetch(path))
      expect(answer).toMatchObject({ httpStatus: 400, reason: 'REQUEST_MALFORMED' })
    }
  },
)

test.each([
  ['no request line', 'nonsense\r\n\r\n'],
  ['an unknown method', 'BREW /workflows/tools/list HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an unknown version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
  ['no Host', 'GET /health HTTP/1.1\r\n\r\n'],
  ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n'],
  ['a null byte in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n'],
  ['a space in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  [
    'length and chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['a length that is no number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n'],
  ['TLS', Buffer.from([0x16, 0x03, 0x01, 0x00, 0xa5, 0x01, 0x00, 0x00])],
])('%s is answered 400 in our shape, and the connection ends', async (_what, sent) => {
  const { status, head, body } = await rawExchange(server.url, sent)
  expect(status).toBe(400)
  expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im)
  expect(JSON.parse(body)).toEqual({
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'The request is not valid HTTP.',
      details: [{ reason: 'REQUEST_MALFORMED' }],
    },
  })
})

function expecting(what: string): string {
  const head = 'PUT /workflows/tools/defs/expected HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
  return `${head}Expect: ${what}\r\nContent-Length: 2\r\n${auth()}\r\n{}`
}

test('an Expect that is not known is refused in our shape, and 100-continue is honoured', async () => {
  const refused = await rawExchange(server.url, expecting('a miracle'))
  expect(refused.status).toBe(400)
  expect((JSON.parse(refused.body) as ErrorBody).error.details).toEqual([{ reason: 'HEADER_INVALID' }])
  expect((await server.fetch('/workflows/tools/defs/expected')).status).toBe(404)
  const { status, body } = await rawExchange(server.url, expecting('100-continue'))
  expect(status).toBe(100)
  expect(body).toMatch(/^HTTP\/1\.1 201 /)
})

test('100 kB of headers are answered 431 in our shape, and the next request is served', async () => {
  const sent = `GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`
  const { status, body } = await rawExchange(server.url, sent)
  expect(status).toBe(431)
  expect((JSON.parse(body) as ErrorBody).error.details).toEqual([{ reason: 'HEADERS_TOO_LARGE' }])
  expect((await server.fetch('/health')).status).toBe(200)
})

test('an address of 100 kB is refused, in our shape', async () => {
  const { status } = await rawExchange(server.url, `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  expect(status).toBe(431)
})

test('a body that ends before its length leaves nothing behind, and the server goes on', async () => {
  const socket = await rawConnection(server.url)
  const head = 'PUT /workflows/tools/defs/cut_off HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n'
  socket.end(`${head}${auth()}\r\n{"description":"cut`)
  await readAnswer(socket)
  expect((await server.fetch('/workflows/tools/defs/cut_off')).status).toBe(404)
})

test('two requests written at once on one connection are answered in order', async () => {
  const first = `GET /workflows/tools/list?names=[] HTTP/1.1\r\nHost: x\r\n${auth()}\r\n`
  const second = `GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
  const { status, body } = await rawExchange(server.url, first + second)
  expect(status).toBe(200)
  expect(body).toMatch(/^\[\]HTTP\/1\.1 404 /)
})

test('no answer says what the service is made of', async () => {
  for (const path of [
    '/workflows/tools/list?names=[]',
    '/health',
    '/',
    '/nowhere',
    '/workflows/tools/defs/%zz',
  ]) {
    const answer = await server.fetch(path)
    expect(answer.headers.get('x-powered-by')).toBeNull()
    expect(answer.headers.get('server')).toBeNull()
    expect(await answer.text()).not.toMatch(/node_modules|\.ts\b|express|\bat \//i)
  }
})

test('an answer to a method without a body can be read by a plain HTTP client', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${server.token}` }
    request(`${server.url}/workflows/tools/list`, { method: 'HEAD', headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
})

const ECHO = { kind: 'builtin', builtin: 'echo' }
const DELETE_KEPT = 'DELETE /workflows/tools/defs/kept HTTP/1.1\r\nHost: x\r\n'
async function keep(): Promise<void> {
  const body = JSON.stringify({ description: 'Stays.', parameters: { type: 'object' }, runner: ECHO })
  expect((await server.fetch('/workflows/tools/defs/kept', { method: 'PUT', body })).ok).toBe(true)
}
const isKept = async (): Promise<boolean> =>
  (await server.fetch('/workflows/tools/defs/kept?layer=user')).status === 200

test.each([
  ['a coding that is none', 'Transfer-Encoding: identity\r\n\r\n'],
  ['a broken chunk', 'Transfer-Encoding: chunked\r\n\r\nno chunk\r\n'],
  ['a broken chunk behind a good one', 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nno chunk\r\n'],
  ['a length beside chunks', 'Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n'],
  ['a broken end', 'Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n'],
])('a request that is not HTTP changes nothing: %s', async (_what, rest) => {
  await keep()
  expect((await rawExchange(server.url, `${DELETE_KEPT}${auth()}${rest}`)).status).toBe(400)
  expect(await isKept()).toBe(true)
})

test('a request whose body does not come whole changes nothing', async () => {
  await keep()
  const socket = await rawConnection(server.url)
  socket.end(`${DELETE_KEPT}${auth()}Content-Length: 9\r\n\r\nhalf`)
  expect((await readAnswer(socket)).status).toBe(400)
  expect(await isKept()).toBe(true)
})

test('a body that nobody asked for does no harm, unless it is too large', async () => {
  await keep()
  const bytes = BODY_BYTES_MAX.single + 1
  const large = `Content-Length: ${bytes}\r\nConnection: close\r\n\r\n${'x'.repeat(bytes)}`
  expect((await rawExchange(server.url, `${DELETE_KEPT}${auth()}${large}`)).status).toBe(413)
  expect(await isKept()).toBe(true)
  const chunked = 'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n'
  expect((await rawExchange(server.url, `${DELETE_KEPT}${auth()}${chunked}`)).status).toBe(200)
  expect(await isKept()).toBe(false)
})

test('nothing of all this reached the log as a failure', () => {
  expect(server.log).not.toMatch(/^error/m)
})
