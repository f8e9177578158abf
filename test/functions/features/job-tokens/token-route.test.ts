import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'

const SHARED = tool('shared')
const ask = await routeService([SHARED])
const keyless = await routeService([SHARED], { signJobToken: undefined })
const TOOL = { name: 'shared', digest: definitionDigest(SHARED) }
const STALE = { ...TOOL, digest: `sha256:${'0'.repeat(64)}` }
const request = (more: object = {}) => ({ body: { workflowId: 'nightly', tools: [TOOL], ...more } })

test('a user gets a token for tools of their catalog, until the end of its time', async () => {
  const { status, body, headers } = await ask('ann', 'POST /jobs/tokens', request({ ttl: 60 }))
  expect(status).toBe(201)
  expect(body).toMatchObject({ token: expect.any(String), expiresAt: expect.any(String), tools: [TOOL] })
  expect(headers.get('Cache-Control')).toBe('private, no-store')
})

test('tools that cannot be granted are told, each with its place', async () => {
  const tools = [STALE, { ...TOOL, name: 'none' }, TOOL, TOOL]
  const { status, code, body } = await ask('ann', 'POST /jobs/tokens', request({ tools }))
  expect([status, code]).toEqual([409, 'DIGEST_CHANGED'])
  expect(body).toMatchObject({
    error: {
      details: [
        { reason: 'DIGEST_CHANGED', index: 0, pointer: '/tools/0/digest' },
        { reason: 'TOOL_NOT_FOUND', index: 1, pointer: '/tools/1/name' },
        { reason: 'BODY_INVALID', index: 3, pointer: '/tools/3/name' },
      ],
    },
  })
})

test.each<RefusedRow>([
  ['a request without a valid token', 'nobody', 'POST /jobs/tokens', request(), '401 TOKEN_INVALID'],
  ['a request of an account', 'account', 'POST /jobs/tokens', request(), '403 PERMISSION_DENIED'],
  ['a request of a job token', 'token', 'POST /jobs/tokens', request(), '403 PERMISSION_DENIED'],
  ['a parameter', 'ann', 'POST /jobs/tokens?a=1', request(), '400 PARAMETER_UNKNOWN'],
  ['a body that is no object', 'ann', 'POST /jobs/tokens', { body: [] }, '400 BODY_INVALID'],
  ['an unknown field', 'ann', 'POST /jobs/tokens', request({ a: 1 }), '400 BODY_INVALID'],
  ['a workflow id that is none', 'ann', 'POST /jobs/tokens', request({ workflowId: '' }), '400 BODY_INVALID'],
  ['a time that is too long', 'ann', 'POST /jobs/tokens', request({ ttl: 601 }), '400 BODY_INVALID'],
  ['no tools', 'ann', 'POST /jobs/tokens', request({ tools: [] }), '400 BODY_INVALID'],
  [
    'a tool without a digest',
    'ann',
    'POST /jobs/tokens',
    request({ tools: [{ name: 'shared' }] }),
    '400 BODY_INVALID',
  ],
  [
    'a tool that is not there',
    'ann',
    'POST /jobs/tokens',
    request({ tools: [{ ...TOOL, name: 'x' }] }),
    '404 TOOL_NOT_FOUND',
  ],
])('%s is refused', async (_what, who, asked, init, expected) => {
  const { status, code } = await ask(who, asked, init)
  expect(`${status} ${code}`).toBe(expected)
})

test('a server without keys says so', async () => {
  expect(await keyless('ann', 'POST /jobs/tokens', request())).toMatchObject({
    status: 503,
    code: 'KEYS_UNAVAILABLE',
  })
})
