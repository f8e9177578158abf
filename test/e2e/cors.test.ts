import { afterAll, expect, test } from '@jest/globals'
import { Server } from '../support/server.ts'

const LISTED = 'https://app.example'
const server = await Server.start({ env: { TOOLRACK_CORS_ORIGINS: `${LISTED}, https://other.example` } })
afterAll(() => server[Symbol.asyncDispose]())

/** Every way in which an answer can come about. */
const ANSWERS = [
  ['a list', '/workflows/tools/list', 200],
  ['a list that is spelled in another way', '/workflows/tools/list/', 200],
  ['a definition that is not there', '/workflows/tools/defs/NOTHING?layer=user', 404],
  ['a query that is refused', '/workflows/tools/list?nmaes=A', 400],
  ['health', '/health', 200],
  ['nothing', '/nothing', 404],
] as const

test.each(ANSWERS)(
  '%s may be read by a page of a listed origin, with what it says in headers',
  async (...answer) => {
    const [, path, status] = answer
    const res = await server.fetch(path, { headers: { Origin: LISTED } })
    expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([status, LISTED])
    expect(res.headers.get('access-control-expose-headers')).toBe(
      'ETag,Link,Retry-After,Idempotent-Replay,X-Tools-Revision,X-Tools-Layers,X-Tools-Unknown,X-Tools-Quarantined,X-Tools-Omitted,X-Tools-Left-Out,X-Tools-Scope-Unmatched,X-Tools-Changed',
    )
    expect(res.headers.get('vary')).toBe('Origin')
  },
)

test.each(ANSWERS)('%s may not be read by any other page', async (...answer) => {
  const [, path, status] = answer
  for (const origin of ['https://app.example.evil', 'http://app.example', 'null']) {
    const res = await server.fetch(path, { headers: { Origin: origin } })
    expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([status, null])
  }
})

test('a refusal for want of a token may be read too', async () => {
  const res = await fetch(`${server.url}/workflows/tools/list`, { headers: { Origin: LISTED } })
  expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([401, LISTED])
})

test('a browser that asks first learns what it may send, without a token', async () => {
  const headers = { Origin: LISTED, 'Access-Control-Request-Method': 'PUT' }
  const res = await fetch(`${server.url}/workflows/tools/defs/A`, { method: 'OPTIONS', headers })
  expect([res.status, res.headers.get('access-control-allow-methods')]).toEqual([204, 'GET,PUT,POST,DELETE'])
  expect(res.headers.get('access-control-allow-headers')).toBe(
    'Authorization,Content-Type,If-Match,If-None-Match,Idempotency-Key,X-Project-Id,traceparent,Last-Event-ID',
  )
})
