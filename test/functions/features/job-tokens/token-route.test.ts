import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ErrorBody, ListedTool } from '@toolrack/contract'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { Answered, RefusedRow } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const SHARED = tool('shared')
const ask = await routeService([SHARED, tool('other')])
const keyless = await routeService([SHARED], { signJobToken: undefined })
const TOOL = { name: 'shared', digest: definitionDigest(SHARED) }
const STALE = { ...TOOL, digest: `sha256:${'0'.repeat(64)}` }
const request = (more: object = {}) => ({ body: { workflowId: 'nightly', tools: [TOOL], ...more } })

/** The names of the tools that the bearer of a new token sees. */
async function listed({ body }: Answered, query = ''): Promise<string[]> {
  const headers = { Authorization: `Bearer ${String(body['token'])}` }
  const answer = await ask('token', `GET /tools/list${query}`, { headers })
  return (answer.body as unknown as ListedTool[]).map((one) => one.function.name)
}

test('a user gets a token for tools of their catalog, until the end of its time', async () => {
  const { status, body, headers } = await ask('ann', 'POST /jobs/tokens', request({ ttl: 60 }))
  expect(status).toBe(201)
  expect(body).toMatchObject({ token: expect.any(String), expiresAt: expect.any(String), tools: [TOOL] })
  expect(headers.get('Cache-Control')).toBe('private, no-store')
})

test('a token without a time of its own is good for five minutes', async () => {
  const { body } = await ask('ann', 'POST /jobs/tokens', request())
  expect(new Date(String(body['expiresAt'])).getTime() - NOW).toBe(300_000)
})

test('a tool is named by its alias too, and granted by its name', async () => {
  const { body } = await ask('ann', 'PUT /tools/defs/weather:get', { body: tool('weather:get') })
  const digest = String(body['digest'])
  const tools = [{ name: 'weather__get', digest }]
  const minted = await ask('ann', 'POST /jobs/tokens', request({ tools }))
  expect(minted.body['tools']).toEqual([{ name: 'weather:get', digest }])
  expect(await listed(minted, '?names=weather__get')).toEqual(['weather:get'])
})

test('64 tools go into one token; with names as long as they may be they do not, and the answer says so', async () => {
  const short = Array.from({ length: 64 }, (_, index) => `T${index}`)
  const long = short.map((name) => name.padEnd(128, 'x'))
  const [fits, refused] = await Promise.all(
    [short, long].map(async (names) => {
      const tools = names.map((name) => tool(name))
      expect((await ask('bob', 'POST /tools/defs', { body: tools })).status).toBe(200)
      const granted = tools.map((each) => ({ name: each.function.name, digest: definitionDigest(each) }))
      return ask('bob', 'POST /jobs/tokens', request({ tools: granted }))
    }),
  )
  expect(fits && (await listed(fits))).toEqual(short.toSorted())
  expect(refused).toMatchObject({
    status: 400,
    code: 'BODY_INVALID',
    body: { error: { message: expect.stringMatching(/name fewer/) } },
  })
})

test('/health takes the bearer of a job token for nobody', async () => {
  const { body } = await ask('ann', 'POST /jobs/tokens', request())
  const headers = { Authorization: `Bearer ${String(body['token'])}` }
  const health = await ask('token', 'GET /health', { headers })
  expect(Object.keys(health.body)).toEqual(['status', 'version', 'isolation'])
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

test('the first tool that cannot be granted decides the code of the error, and no name is repeated', async () => {
  const tools = [TOOL, { ...TOOL, name: 'NOT_A_TOOL' }, { ...STALE, name: 'other' }]
  const { status, code, body } = await ask('ann', 'POST /jobs/tokens', request({ tools }))
  expect([status, code]).toEqual([404, 'TOOL_NOT_FOUND'])
  expect(body).toMatchObject({
    error: {
      details: [
        { reason: 'TOOL_NOT_FOUND', index: 1, pointer: '/tools/1/name' },
        { reason: 'DIGEST_CHANGED', index: 2, pointer: '/tools/2/digest' },
      ],
    },
  })
  expect(JSON.stringify(body)).not.toContain('NOT_A_TOOL')
})

test.each<[what: string, body: unknown, pointer: string]>([
  ['no JSON', '{', ''],
  ['null', null, ''],
  ['a list', [], ''],
  ['an unknown key', { workflowId: 'w', tools: [TOOL], scope: '*' }, ''],
  ['no workflow', { tools: [TOOL] }, '/workflowId'],
  ['an empty workflow', { workflowId: '', tools: [TOOL] }, '/workflowId'],
  ['a workflow with a line feed', { workflowId: 'w\n', tools: [TOOL] }, '/workflowId'],
  ['a long workflow', { workflowId: 'w'.repeat(257), tools: [TOOL] }, '/workflowId'],
  ['no tools', { workflowId: 'w' }, '/tools'],
  ['an empty list', { workflowId: 'w', tools: [] }, '/tools'],
  ['65 tools', { workflowId: 'w', tools: Array.from({ length: 65 }, () => TOOL) }, '/tools'],
  ['a bare name', { workflowId: 'w', tools: ['shared'] }, '/tools/0'],
  ['no digest', { workflowId: 'w', tools: [TOOL, { name: 'shared' }] }, '/tools/1'],
  ['half a digest', { workflowId: 'w', tools: [{ ...TOOL, digest: 'sha256:00' }] }, '/tools/0'],
  ['more than name and digest', { workflowId: 'w', tools: [{ ...TOOL, layer: 'user' }] }, '/tools/0'],
  ['a ttl of 601 s', { workflowId: 'w', tools: [TOOL], ttl: 601 }, '/ttl'],
  ['a ttl of nothing', { workflowId: 'w', tools: [TOOL], ttl: 0 }, '/ttl'],
  ['a ttl below nothing', { workflowId: 'w', tools: [TOOL], ttl: -300 }, '/ttl'],
  ['half a second', { workflowId: 'w', tools: [TOOL], ttl: 0.5 }, '/ttl'],
  ['a ttl as text', { workflowId: 'w', tools: [TOOL], ttl: '300' }, '/ttl'],
  ['a ttl of null', { workflowId: 'w', tools: [TOOL], ttl: null }, '/ttl'],
])('a body with %s is a 400 that says where', async (_what, body, pointer) => {
  const answer = await ask('ann', 'POST /jobs/tokens', { body })
  expect([answer.status, answer.code]).toEqual([400, 'BODY_INVALID'])
  const { details } = (answer.body as ErrorBody).error
  expect(details[0]?.['pointer'] ?? '').toBe(pointer)
})

test.each<RefusedRow>([
  ['a parameter', 'ann', 'POST /jobs/tokens?a=1', request(), '400 PARAMETER_UNKNOWN'],
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
