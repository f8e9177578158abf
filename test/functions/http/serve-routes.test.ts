import { afterAll, expect, test } from '@jest/globals'
import { onLayer, READ } from '../../../functions/src/access/action.ts'
import { ToolrackError } from '@toolrack/contract'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Authenticate } from '../../../functions/src/access/authenticate.ts'
import { tokenInvalid } from '../../../functions/src/access/authenticate.ts'
import { callerGone } from '../../../functions/src/http/caller.ts'
import { Query } from '../../../functions/src/http/query.ts'
import { readBytes } from '../../../functions/src/http/read-body.ts'
import { route } from '../../../functions/src/http/route.ts'
import type { TableRow } from '../../../functions/src/http/route.ts'
import { sendJson } from '../../../functions/src/http/send-json.ts'
import { serveRoutes } from '../../../functions/src/http/serve-routes.ts'
import { listen, stopListening } from '../../../functions/src/hosts/local/listen.ts'
import { errorAnswer } from '../../support/error-answer.ts'

/** `Bearer NAME` is the user of that name, and `Bearer admin` an admin. */
const authenticate: Authenticate = ({ authorization = '', family }) => {
  const [, uid = ''] = /^Bearer (\w+)$/.exec(authorization) ?? []
  if (uid === '') throw tokenInvalid()
  const isAdmin = uid === 'admin'
  return family === 'jobs' ? { kind: 'job', uid, isAdmin } : { kind: 'user', uid, isAdmin }
}

const logged: string[] = []
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (message: string, fields: object = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`),
}

/** What a streaming handler waits for between its parts, and what it tells. */
const goOn = Promise.withResolvers<void>()
const gone = Promise.withResolvers<void>()
const askedLate = Promise.withResolvers<boolean>()

const layerOf = ({ search }: { readonly search: string }): 'user' | 'global' =>
  new Query(search, ['layer']).choice('layer', ['user', 'global'], 'user')

const TABLE: readonly TableRow[] = [
  route({
    method: 'GET',
    path: '/scopes/:kind/:id',
    action: READ,
    handle({ params, res }) {
      // @ts-expect-error: the path names nothing of that name.
      void params.nmae
      sendJson(res, 200, { kind: params.kind, id: params.id })
    },
  }),
  route({
    method: 'DELETE',
    path: '/scopes/:kind/:id',
    action: READ,
    handle: ({ res }) => sendJson(res, 200, {}),
  }),
  route({
    method: 'POST',
    path: '/scopes/all/new',
    action: READ,
    handle: ({ res }) => sendJson(res, 200, 'new'),
  }),
  route({
    method: 'GET',
    path: '/scopes/all/own',
    action: READ,
    handle: ({ res }) => sendJson(res, 200, 'own'),
  }),
  route({
    method: 'PATCH',
    path: '/layers',
    takesBody: true,
    ask: layerOf,
    action: (layer) => onLayer('write', layer),
    async handle({ asked: layer, req, res, bodies, principal }) {
      sendJson(res, 200, {
        layer,
        bytes: (await readBytes({ req, res, bodies, principal }, 'definition')).length,
      })
    },
  }),
  route({
    method: 'GET',
    path: '/sources',
    ask: layerOf,
    action: (layer) => onLayer('read-modules', layer),
    hide: ({ asked: layer, res }) => sendJson(res, 200, { layer, none: true }),
    handle: ({ asked: layer, res }) => sendJson(res, 200, { layer }),
  }),
  route({
    method: 'GET',
    path: '/parts/:how',
    action: READ,
    async handle({ params: { how }, res }) {
      res.writeHead(200, { 'Content-Type': 'text/plain' })
      res.write('first ')
      if (how === 'whole') await goOn.promise
      if (how === 'refused') throw new ToolrackError('TOOL_NOT_FOUND', 'It went away.')
      if (how === 'broken') throw new Error('It broke.')
      if (how === 'endless') {
        const signal = callerGone(res)
        await once(signal, 'abort')
        askedLate.resolve(callerGone(res).aborted)
        gone.resolve()
      } else res.end('second')
    },
  }),
  {
    method: 'GET',
    path: '/who',
    isRoot: true,
    action: 'anybody',
    handle: ({ principal, res }) => sendJson(res, 200, { uid: principal?.uid ?? null }),
  },
  route({
    method: 'GET',
    path: '/users',
    isRoot: true,
    action: READ,
    inFull: onLayer('read-modules', 'file'),
    handle: ({ inFull, res }) => sendJson(res, 200, { inFull }),
  }),
]

const ORIGIN = 'https://app.example'
const listening = await listen(
  serveRoutes(TABLE, { authenticate, corsOrigins: [ORIGIN], log }),
  '127.0.0.1',
  0,
)
afterAll(() => stopListening(listening))

const ask = (path: string, init: RequestInit = {}, who = 'ann'): Promise<Response> =>
  fetch(listening.url + path, { ...init, headers: { Authorization: `Bearer ${who}` } })

/** The answer as it comes, part by part. */
async function opened(path: string): Promise<IncomingMessage> {
  const sent = request(listening.url + path, { headers: { Authorization: 'Bearer ann' } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer.setEncoding('utf8')
}

test('a path may name several things, which the handler finds by name, percent-decoded', async () => {
  for (const family of ['workflows', 'jobs', 'WORKFLOWS'])
    expect(await (await ask(`/${family}/scopes/team/a%2Fb%20c/`)).json()).toEqual({
      kind: 'team',
      id: 'a/b c',
    })
})

test.each([
  ['/workflows/scopes/a/b', 'PUT', 'GET, DELETE'],
  ['/workflows/scopes/all/new', 'PUT', 'GET, DELETE, POST'],
  ['/jobs/Scopes/all/new/', 'PUT', 'GET, DELETE, POST'],
  ['/workflows/layers', 'GET', 'PATCH'],
  ['/who', 'POST', 'GET'],
])(
  '%s asked with %s is a 405 that names every method of every route there: %s',
  async (path, method, allow) => {
    const answer = await ask(path, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
    expect((await errorAnswer(answer)).message).toBe(`The route knows ${allow}.`)
  },
)

test('a path that names something is no obstacle to one that is written out', async () => {
  expect(await (await ask('/workflows/scopes/all/new', { method: 'POST' })).json()).toBe('new')
  expect(await (await ask('/workflows/scopes/all/new')).json()).toEqual({ kind: 'all', id: 'new' })
  for (const path of ['/workflows/scopes/all/own', '/workflows/scopes/all/own/', '/workflows/Scopes/all/own'])
    expect(await (await ask(path)).json()).toBe('own')
})

const patch = (search: string, who?: string): Promise<Response> =>
  ask(`/workflows/layers?${search}`, { method: 'PATCH', body: 'four' }, who)

test('an action that depends on the query is decided after it was read, and before the body is', async () => {
  expect(await (await patch('layer=user')).json()).toEqual({ layer: 'user', bytes: 4 })
  expect(await (await patch('layer=global', 'admin')).json()).toEqual({ layer: 'global', bytes: 4 })
  expect((await patch('layer=global')).status).toBe(403)
  expect((await patch('layer=nowhere')).status).toBe(400)
  const sent = request(`${listening.url}/workflows/layers?layer=global`, {
    method: 'PATCH',
    headers: { Authorization: 'Bearer ann', 'Content-Length': '4' },
  })
  sent.flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(403)
  sent.destroy()
})

test('what may not be read is hidden where the route says how', async () => {
  expect(await (await ask('/workflows/sources?layer=global')).json()).toEqual({ layer: 'global', none: true })
  expect(await (await ask('/workflows/sources?layer=global', {}, 'admin')).json()).toEqual({
    layer: 'global',
  })
})

test('a route is told whether its answer may be given in full', async () => {
  expect(await (await ask('/users')).json()).toEqual({ inFull: false })
  expect(await (await ask('/users', {}, 'admin')).json()).toEqual({ inFull: true })
})

test('a route for everybody knows who brings a good token, and answers who does not', async () => {
  expect(await (await ask('/who')).json()).toEqual({ uid: 'ann' })
  expect(await (await fetch(`${listening.url}/who`)).json()).toEqual({ uid: null })
  expect((await fetch(`${listening.url}/users`)).status).toBe(401)
})

test('browsers are told the methods that some route has, and no other', async () => {
  const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': 'PATCH' }
  const told = await fetch(`${listening.url}/workflows/layers`, { method: 'OPTIONS', headers })
  expect(told.headers.get('access-control-allow-methods')).toBe('GET,POST,PATCH,DELETE')
})

test('what a handler writes is sent at once, and nothing waits for the end', async () => {
  const answer = await opened('/workflows/parts/whole')
  const parts = answer[Symbol.asyncIterator]()
  expect((await parts.next()).value).toBe('first ')
  goOn.resolve()
  expect((await parts.next()).value).toBe('second')
  expect((await parts.next()).done).toBe(true)
  expect(answer.complete).toBe(true)
})

test('a handler that streams learns that its reader has gone, also when it asks afterwards', async () => {
  const answer = await opened('/workflows/parts/endless')
  await once(answer, 'data')
  answer.on('error', () => undefined).destroy()
  await gone.promise
  expect(await askedLate.promise).toBe(true)
})

test.each([
  ['broken', /^request failed .*It broke\./],
  ['refused', /^answer broken off .*"TOOL_NOT_FOUND".*It went away\./],
])(
  'a stream that fails with an error (%s) is seen to be cut off, and the log says why',
  async (how, line) => {
    logged.length = 0
    const answer = await opened(`/workflows/parts/${how}`)
    const text: string[] = []
    answer.on('data', (part: string) => text.push(part))
    const [error] = (await once(answer, 'error')) as [Error]
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect([text.join(''), answer.complete]).toEqual(['first ', false])
    expect(logged).toEqual(expect.arrayContaining([expect.stringMatching(line)]))
    expect((await ask('/who')).status).toBe(200)
  },
)
