import { afterAll, expect, test } from '@jest/globals'
import { FAMILIES } from '../../functions/src/http/route.ts'
import { TABLE } from '../support/route-table.ts'
import { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const { token } = server
const REFUSED: readonly [string, string | undefined][] = [
  ['no token', undefined],
  ['an empty header', ''],
  ['a scheme without a token', 'Bearer'],
  ['a blank token', 'Bearer  '],
  ['another scheme', `Basic ${token}`],
  ['the bare token', token],
  ['a wrong token', `Bearer ${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
  ['a part of the token', `Bearer ${token.slice(0, 20)}`],
  ['the token and more', `Bearer ${token}A`],
  ['two tokens', `Bearer ${token} ${token}`],
  ['a token with a mark in it', 'Bearer <script>"\\'],
  ['a token of 8 kB', `Bearer ${'x'.repeat(8_192)}`],
]

async function whole(answer: Response): Promise<{ status: number; headers: unknown; body: string }> {
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'))
  return { status: answer.status, headers, body: await answer.text() }
}

function ask(path: string, authorization: string | undefined, method = 'GET'): Promise<Response> {
  const headers = authorization === undefined ? {} : { Authorization: authorization }
  return fetch(server.url + path, { method, headers })
}

test.each(REFUSED)('%s gets the same 401 as every other, to the byte', async (_what, authorization) => {
  const answer = await whole(await ask('/workflows/tools/list', authorization))
  expect(answer.status).toBe(401)
  expect(answer.body).toBe(
    '{"error":{"code":401,"status":"UNAUTHENTICATED","message":"A valid token is needed: send \\"Authorization: Bearer <token>\\". If you sent one, see that no proxy on the way removes the header.","details":[{"reason":"TOKEN_INVALID"}]}}\n',
  )
  expect(answer.headers).toMatchObject({
    'www-authenticate': 'Bearer realm="toolrack"',
    'cache-control': 'private, no-store',
  })
  expect(answer).toEqual(await whole(await ask('/workflows/tools/list', undefined)))
})

const EVERY = TABLE.filter(({ isPublic }) => !isPublic).flatMap(({ method, addresses }) =>
  addresses.map(({ address }) => [method, address.replace(':name', 'READ_FILE')] as const),
)

test.each(EVERY)('%s %s is a 401 without a token, whatever its query and body', async (method, path) => {
  expect((await ask(path, undefined, method)).status).toBe(401)
  const wrong = await fetch(`${server.url}${path}?bogus=1`, {
    method,
    headers: { Authorization: 'Bearer wrong' },
    ...(method === 'PUT' || method === 'POST' ? { body: '{broken' } : {}),
  })
  expect(wrong.status).toBe(401)
})

test('the 401 comes before the conditional request: a known entity tag tells nothing', async () => {
  const { headers } = await server.fetch('/workflows/tools/list')
  const answer = await fetch(`${server.url}/workflows/tools/list`, {
    headers: { 'If-None-Match': headers.get('etag') ?? '' },
  })
  expect(answer.status).toBe(401)
  expect(answer.headers.get('etag')).toBeNull()
})

test.each(FAMILIES)('the local token reads, and writes both layers as an admin, on /%s', async (family) => {
  expect((await server.fetch(`/${family}/tools/list`)).status).toBe(200)
  for (const layer of ['user', 'global']) {
    const path = `/${family}/tools/defs/by_${family}_in_${layer}?layer=${layer}`
    const written = await server.fetch(path, { method: 'PUT', body: '{"description":"Admin."}' })
    expect(written.status).toBe(201)
    const read = (await (await server.fetch(path)).json()) as { updatedBy: string }
    expect(read.updatedBy).toBe('local')
  }
  expect(await listedNames(server, `names=by_${family}_in_user,by_${family}_in_global`)).toHaveLength(2)
})

test('the scheme is read in any case, as RFC 9110 has it', async () => {
  expect((await ask('/workflows/tools/list', `bearer ${token}`)).status).toBe(200)
})

test.each([undefined, 'Bearer wrong'])(
  '/health with %s for a token tells status, version and isolation, and nothing else',
  async (authorization) => {
    const answer = await ask('/health', authorization)
    expect(answer.status).toBe(200)
    const body = (await answer.json()) as object
    expect(Object.keys(body)).toEqual(['status', 'version', 'isolation'])
    expect(body).toEqual({ status: 'ok', version: expect.stringMatching(/^\d+\.\d+\.\d+$/), isolation: 'L0' })
  },
)

test('/health with the token tells the state of every layer', async () => {
  const body = (await (await server.fetch('/health')).json()) as { layers: object }
  expect(body.layers).toMatchObject({
    user: { status: 'fresh', skipped: [] },
    global: { status: 'fresh', skipped: [] },
    file: { status: 'fresh', skipped: [] },
  })
})
