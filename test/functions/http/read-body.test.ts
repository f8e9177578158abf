import { afterAll, afterEach, expect, test } from '@jest/globals'
import { CALL } from '../../../functions/src/access/action.ts'
import { ToolrackError } from '@toolrack/contract'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { tokenInvalid } from '../../../functions/src/access/authenticate.ts'
import type { Authenticate } from '../../../functions/src/access/authenticate.ts'
import { BodiesInFlight } from '../../../functions/src/http/bodies-in-flight.ts'
import { callerGone } from '../../../functions/src/http/caller.ts'
import { readBody } from '../../../functions/src/http/read-body.ts'
import { route } from '../../../functions/src/http/route.ts'
import type { KnownRequest } from '../../../functions/src/http/route.ts'
import { sendJson } from '../../../functions/src/http/send-json.ts'
import { serveRoutes } from '../../../functions/src/http/serve-routes.ts'
import { UnreadAnswers } from '../../../functions/src/http/unread-answers.ts'
import { listen, stopListening } from '../../../functions/src/hosts/local/listen.ts'
import { errorAnswer } from '../../support/error-answer.ts'
import { rawConnection, readAnswer } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

const KB = 1024
const MB = 1024 * KB

/** Whose request it is says its token; without one it is nobody's. */
const authenticate: Authenticate = ({ authorization }) => {
  if (authorization === undefined) throw tokenInvalid()
  return { kind: 'user', uid: authorization, isAdmin: false }
}
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const bodies = new BodiesInFlight(8 * MB)
const work = {
  began: Promise.withResolvers<void>(),
  goesOn: Promise.withResolvers<void>(),
  sawCallerGo: Promise.withResolvers<void>(),
}

/** Answers with the bytes that are counted while it works. `?fail` throws, and `?wait` works until the test says so. */
async function handle(request: KnownRequest): Promise<void> {
  const { search, req, res } = request
  // What the Functions Framework does before it calls a function.
  if (search === 'raw') {
    const chunks: Uint8Array[] = []
    for await (const chunk of req) chunks.push(chunk as Uint8Array)
    Object.assign(req, { rawBody: Buffer.concat(chunks), body: 'parsed' })
  }
  await readBody(request, 'definitions')
  if (search === 'raw') expect(req).toMatchObject({ body: undefined })
  if (search === 'fail') throw new ToolrackError('DEFINITION_INVALID')
  if (search === 'wait') {
    const signal = callerGone(res)
    work.began.resolve()
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), work.goesOn.promise])
    if (signal.aborted) work.sawCallerGo.resolve()
    await work.goesOn.promise
  }
  sendJson(res, 200, { counted: request.bodies.state.bytes })
}

const TABLE = ['/exact', '/named/:name'].map((path) =>
  route({ method: 'POST', path, action: CALL, takesBody: true, handle }),
)
const listening = await listen(
  serveRoutes(TABLE, { authenticate, corsOrigins: [], log, bodies }),
  '127.0.0.1',
  0,
)
afterAll(() => stopListening(listening))

afterEach(() => {
  work.began = Promise.withResolvers()
  work.goesOn.resolve()
  work.goesOn = Promise.withResolvers()
  work.sawCallerGo = Promise.withResolvers()
})

const post = (
  path: string,
  body: RequestInit['body'],
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(listening.url + path, {
    method: 'POST',
    body,
    headers: { Authorization: 'ann', ...headers },
    duplex: 'half',
  } as RequestInit)
const bodyOf = (bytes: number): string => '1'.padEnd(bytes)
const nothingIsCounted = (): Promise<number> =>
  until(
    () => Promise.resolve(bodies.state.bytes),
    (bytes) => bytes === 0,
  )
const counted = (bytes: number): Promise<number> =>
  until(
    () => Promise.resolve(bodies.state.bytes),
    (taken) => taken === bytes,
  )

/** A request whose client has sent its head and so many bytes of its body. */
async function begun(path: string, length: number, sent = length, url = listening.url) {
  const socket = await rawConnection(url)
  socket.on('error', () => undefined)
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ann\r\nContent-Length: ${length}\r\n\r\n${bodyOf(sent)}`,
  )
  return socket
}

test.each([
  ['is as long as it says', '/workflows/exact', bodyOf(100 * KB), {}, 100 * KB],
  ['is found by Express', '/workflows/named/x', bodyOf(100 * KB), {}, 100 * KB],
  ['is small', '/workflows/exact', bodyOf(16 * KB), {}, 0],
  ['was read by the Functions Framework', '/workflows/exact?raw', bodyOf(100 * KB), {}, 100 * KB],
  ['is compressed', '/workflows/exact', gzipSync(bodyOf(100 * KB)), { 'Content-Encoding': 'gzip' }, 100 * KB],
  ['comes in chunks', '/workflows/exact', new Blob([bodyOf(100 * KB)]).stream(), {}, 100 * KB],
  ['comes in chunks and is small', '/workflows/exact', new Blob([bodyOf(16)]).stream(), {}, 0],
])(
  'a body that %s is counted by what it has, while it is worked on',
  async (_what, path, body, headers, bytes) => {
    const answer = await post(path, body, headers)
    expect([answer.status, await answer.json()]).toEqual([200, { counted: bytes }])
    expect(bodies.state.bytes).toBe(0)
  },
)

test.each([
  ['a body that is no JSON', '/workflows/exact', 'x'.repeat(100 * KB), {}, 400],
  ['a handler that throws', '/workflows/exact?fail', bodyOf(100 * KB), {}, 422],
  ['a handler that Express has found and that throws', '/workflows/named/x?fail', bodyOf(100 * KB), {}, 422],
  ['a body that is too large', '/workflows/exact', bodyOf(3 * MB), {}, 413],
  ['a body in chunks that is too large', '/workflows/exact', new Blob([bodyOf(3 * MB)]).stream(), {}, 413],
  ['a compression that is none', '/workflows/exact', bodyOf(MB), { 'Content-Encoding': 'gzip' }, 400],
])('%s gives its share back', async (_what, path, body, headers, status) => {
  expect((await post(path, body, headers)).status).toBe(status)
  expect(bodies.state.bytes).toBe(0)
})

test('a client that goes while it sends gives its share back', async () => {
  const socket = await begun('/workflows/exact', MB, 500 * KB)
  await counted(MB)
  socket.destroy()
  expect(await nothingIsCounted()).toBe(0)
})

test('when the client has gone, the share is given back only when the work has ended', async () => {
  const socket = await begun('/workflows/exact?wait', MB)
  await work.began.promise
  socket.destroy()
  await work.sawCallerGo.promise
  expect(bodies.state.bytes).toBe(MB)
  work.goesOn.resolve()
  expect(await nothingIsCounted()).toBe(0)
})

test.each(['/workflows/exact', '/workflows/exact?raw', '/workflows/named/x'])(
  'beyond the budget a body to %s is a 429 that says when to ask again, and small ones are taken',
  async (path) => {
    const held = await Promise.all([begun('/workflows/exact?wait', MB), begun('/workflows/named/x?wait', MB)])
    await counted(2 * MB)
    const refused = await post(path, bodyOf(MB))
    expect([refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      '1',
      'keep-alive',
    ])
    expect(await errorAnswer(refused)).toMatchObject({ httpStatus: 429, reason: 'SERVICE_BUSY' })
    expect(bodies.state.bytes).toBe(2 * MB)
    expect((await post(path, bodyOf(16 * KB))).status).toBe(200)
    expect((await post(path, bodyOf(3 * MB))).status).toBe(413)
    work.goesOn.resolve()
    await nothingIsCounted()
    expect((await post(path, bodyOf(MB))).status).toBe(200)
    for (const socket of held) socket.destroy()
  },
)

test.each(['/workflows/exact', '/workflows/exact?raw', '/workflows/named/x'])(
  'a body to %s that is too large is read to its end, and the connection stays open',
  async (path) => {
    const answer = await post(path, bodyOf(3 * MB))
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'keep-alive'])
  },
)

test('if a request is refused and its body is never read, the connection is closed', async () => {
  const unread = new UnreadAnswers(0)
  const app = serveRoutes(TABLE, { authenticate, corsOrigins: [], log, bodies, unread })
  const refusing = await listen(app, '127.0.0.1', 0)
  try {
    const { status, head } = await readAnswer(await begun('/workflows/exact', MB, 1, refusing.url))
    expect([status, /^connection: close$/im.test(head)]).toEqual([429, true])
  } finally {
    await stopListening(refusing)
  }
})

test('a client that is still sending when it is refused can send on and reads the answer', async () => {
  const held = await Promise.all([begun('/workflows/exact', MB, 1), begun('/workflows/exact', MB, 1)])
  await counted(2 * MB)
  const parts = 16
  const socket = await begun('/workflows/exact', MB, MB / parts)
  for (let sent = 1; sent < parts; sent += 1) {
    await pause(10)
    socket.write(bodyOf(MB / parts))
  }
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 429 /)
  socket.destroy()
  for (const each of held) each.destroy()
  await nothingIsCounted()
})

test('after 200 clients that went while they sent, a body is taken', async () => {
  const all = 100
  for (let round = 0; round < 2; round += 1) {
    const sockets = await Promise.all(
      Array.from({ length: all }, (_, index) => begun('/workflows/exact', 20 * KB, index * 200)),
    )
    await counted(all * 20 * KB)
    for (const socket of sockets) socket.destroy()
    expect(await nothingIsCounted()).toBe(0)
  }
  expect((await post('/workflows/exact', bodyOf(MB))).status).toBe(200)
})

test('a user whose bodies take a quarter of the budget is refused, and another user is not', async () => {
  const held = await Promise.all([begun('/workflows/exact?wait', MB), begun('/workflows/named/x?wait', MB)])
  await counted(2 * MB)
  expect((await post('/workflows/exact', bodyOf(17 * KB))).status).toBe(429)
  for (const bytes of [17 * KB, MB]) {
    const answer = await post('/workflows/exact', bodyOf(bytes), { Authorization: 'bob' })
    expect([answer.status, await answer.json()]).toEqual([200, { counted: 2 * MB + bytes }])
  }
  work.goesOn.resolve()
  await nothingIsCounted()
  for (const socket of held) socket.destroy()
})

test('nobody who is not known has a body counted or read', async () => {
  const socket = await rawConnection(listening.url)
  socket.write(`POST /workflows/exact HTTP/1.1\r\nHost: x\r\nContent-Length: ${MB}\r\n\r\n{`)
  const [said] = (await once(socket, 'data')) as [Buffer]
  expect(said.toString()).toMatch(/^HTTP\/1\.1 401 /)
  expect(bodies.state.bytes).toBe(0)
  socket.destroy()
})
