import { afterEach, expect, test } from '@jest/globals'
import { definitionDigest, type JsonObject, type ToolDefinition } from '@toolrack/contract'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'

function clock(name: string, limits: JsonObject = {}): ToolDefinition {
  const definition = { name, description: 'Tells the time.', parameters: { type: 'object', properties: {} } }
  return { type: 'function', function: definition, runner: { kind: 'builtin', builtin: 'time' }, limits }
}

const TOOLS = [clock('clock'), clock('rare', { callsPerMinute: 2 }), clock('alone', { concurrent: 1 })]
const granted = TOOLS.map((tool) => ({ name: tool.function.name, digest: definitionDigest(tool) }))
const ask = await routeService(TOOLS, { audit: memoryAudit() }, granted)
const limited = await routeService(TOOLS, {
  settings: { TOOLRACK_USER_CALLS_PER_MINUTE: 3, TOOLRACK_USER_CALLS_AT_ONCE: 2 },
})

const shared = await routeService(TOOLS, { governance: { ...memoryGovernance(), process: undefined } })
const unlimited = await routeService(TOOLS, {
  governance: { ...memoryGovernance(), process: undefined },
  settings: { TOOLRACK_USER_CALLS_PER_MINUTE: 0, TOOLRACK_USER_CALLS_AT_ONCE: 0 },
})

const OWNERS = ['user/ann', 'workflow/nightly']
afterEach(async () => {
  for (const owner of OWNERS) await ask('admin', `DELETE /limits/${owner}`)
})

const set = (owner: string, limits: unknown, who: Asker = 'admin', headers = {}) =>
  ask(who, `PUT /limits/${owner}`, { body: limits, headers })
const mint = (body: object) => ask('ann', 'POST /jobs/tokens', { body })
const invoke = (who: Asker, name = 'clock', query = '') =>
  ask(who, `POST /tools/invoke${query}`, { body: { name, arguments: {} } })

test('an admin sets, reads, changes and deletes limits, with preconditions', async () => {
  const written = await set('user/ann', { callsPerMinute: 5, concurrent: 2 })
  expect(written).toMatchObject({
    status: 201,
    body: {
      outcome: 'created',
      owner: { kind: 'user', id: 'ann' },
      callsPerMinute: 5,
      concurrent: 2,
      updatedBy: 'root',
    },
  })
  const etag = written.headers.get('etag') ?? ''
  const read = await ask('ann', 'GET /limits/user/ann')
  expect(read).toMatchObject({ status: 200, body: { callsPerMinute: 5, concurrent: 2 } })
  expect(read.headers.get('etag')).toBe(etag)
  expect(await set('user/ann', { callsPerMinute: 5, concurrent: 2 })).toMatchObject({
    status: 200,
    body: { outcome: 'unchanged' },
  })
  expect(await set('user/ann', { concurrent: 3 }, 'admin', { 'If-None-Match': '*' })).toMatchObject({
    status: 412,
    code: 'PRECONDITION_FAILED',
  })
  const changed = await set('user/ann', { concurrent: 3 }, 'admin', { 'If-Match': etag })
  expect(changed).toMatchObject({ status: 200, body: { outcome: 'updated', concurrent: 3 } })
  expect(changed.body).not.toHaveProperty('callsPerMinute')
  expect((await ask('admin', 'DELETE /limits/user/ann')).status).toBe(204)
  expect(await ask('admin', 'GET /limits/user/ann')).toMatchObject({ status: 404, code: 'ITEM_NOT_FOUND' })
})

test.each<[string, string, unknown, string]>([
  ['an unknown kind', 'room/7', {}, '404 ITEM_NOT_FOUND'],
  ['an impossible user', 'user/a.b', {}, '404 ITEM_NOT_FOUND'],
  ['no limit at all', 'user/ann', {}, '400 BODY_INVALID'],
  ['zero', 'user/ann', { callsPerMinute: 0 }, '400 BODY_INVALID'],
  ['a part of a call', 'user/ann', { concurrent: 1.5 }, '400 BODY_INVALID'],
  ['a text', 'user/ann', { concurrent: '3' }, '400 BODY_INVALID'],
  ['too many', 'user/ann', { callsPerMinute: 100_001 }, '400 BODY_INVALID'],
  ['an unknown key', 'user/ann', { perHour: 3 }, '400 BODY_INVALID'],
])('limits with %s are refused', async (_what, owner, limits, expected) => {
  const { status, code } = await set(owner, limits)
  expect(`${status} ${code}`).toBe(expected)
})

test('a call above the limit of the operator is a 429 that names the limit, and says when to come back', async () => {
  const calls = []
  for (let each = 0; each < 4; each += 1)
    calls.push(await limited('ann', 'POST /tools/invoke', { body: { name: 'clock', arguments: {} } }))
  expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  const [first, , , last] = calls
  expect(first?.headers.get('ratelimit')).toMatch(/^"user";r=2;t=\d+, "user-at-once";r=1$/)
  expect(first?.headers.get('ratelimit-policy')).toBe(
    '"user";q=3;w=60, "user-at-once";q=2;qu="concurrent-requests"',
  )
  const seconds = last?.headers.get('retry-after') ?? ''
  expect(Number(seconds)).toBeGreaterThan(0)
  expect(last).toMatchObject({
    code: 'LIMIT_EXCEEDED',
    body: {
      resultType: 'failure',
      error: `A limit is reached: 3 calls a minute for each user, set by the operator. Nothing was run; try again in ${seconds} seconds.`,
    },
  })
  expect(last?.headers.get('ratelimit')).toBe(`"user";r=0;t=${seconds}, "user-at-once";r=2`)
  const other = await limited('bob', 'POST /tools/invoke', { body: { name: 'clock', arguments: {} } })
  expect(other.status).toBe(200)
  // What an admin sets for a user replaces what the operator has set for everybody.
  await limited('admin', 'PUT /limits/user/ann', { body: { callsPerMinute: 1_000 } })
  // A used bucket stays used, but calls come back sooner: one in 60 ms.
  const again = () => limited('ann', 'POST /tools/invoke', { body: { name: 'clock', arguments: {} } })
  let raised = await again()
  for (let tries = 0; tries < 1_000 && raised.status === 429; tries += 1) raised = await again()
  expect(raised.status).toBe(200)
  expect(raised.headers.get('ratelimit-policy')).toContain('"user";q=1000;w=60')
})

test('a server that shares its documents limits each user by default, and the operator can switch this off', async () => {
  const body = { name: 'clock', arguments: {} }
  const limitedByDefault = await shared('ann', 'POST /tools/invoke', { body })
  expect(limitedByDefault.status).toBe(200)
  expect(limitedByDefault.headers.get('ratelimit-policy')).toBe(
    '"user";q=60;w=60, "user-at-once";q=10;qu="concurrent-requests"',
  )
  const free = await unlimited('ann', 'POST /tools/invoke', { body })
  expect(free.status).toBe(200)
  expect(free.headers.get('ratelimit-policy')).toBeNull()
})

test('the limit of a definition counts each user alone, and an answer without a limit has no header', async () => {
  const calls = []
  for (let each = 0; each < 3; each += 1) calls.push(await invoke('ann', 'rare'))
  expect(calls.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(calls.at(-1)?.body['error']).toMatch(
    /^A limit is reached: 2 calls a minute of rare for each user, set by its definition\. Nothing was run; try again in \d+ seconds\.$/,
  )
  expect(calls[0]?.headers.get('ratelimit')).toMatch(/^"tool";r=1;t=\d+$/)
  expect((await invoke('bob', 'rare')).status).toBe(200)
  const free = await invoke('ann')
  expect(free.status).toBe(200)
  expect(free.headers.get('ratelimit')).toBeNull()
})

test('the limit of a workflow counts the jobs of one user, and not the user', async () => {
  await set('workflow/nightly', { callsPerMinute: 1 })
  expect((await invoke('token')).status).toBe(200)
  const refused = await invoke('token')
  expect(refused).toMatchObject({ status: 429, code: 'LIMIT_EXCEEDED' })
  expect(refused.body['error']).toContain('1 call a minute of your jobs of this workflow, set by an admin')
  expect((await invoke('ann')).status).toBe(200)
})

test('a job token may have limits of its own, which its bearer cannot change', async () => {
  const wanted = { workflowId: 'w', tools: granted, limits: { callsPerMinute: 1 } }
  const [one, other] = [await mint(wanted), await mint(wanted)].map(({ body }) => ({
    Authorization: `Bearer ${String(body['token'])}`,
  }))
  const body = { name: 'clock', arguments: {} }
  const calls = []
  for (const headers of [one, one, other])
    calls.push(await ask('token', 'POST /tools/invoke', { body, headers: headers ?? {} }))
  expect(calls.map(({ status }) => status)).toEqual([200, 429, 200])
  expect(calls[1]?.body['error']).toContain('1 call a minute of this job token.')
  expect(calls[0]?.headers.get('ratelimit')).toMatch(/^"token";r=0;t=\d+$/)
  for (const limits of [3, { callsPerMinute: 0 }, { concurrent: 2, perHour: 1 }])
    expect(await mint({ ...wanted, limits })).toMatchObject({ status: 400, code: 'BODY_INVALID' })
})

test('a dry run counts nothing and shows the limits of the definition', async () => {
  for (let each = 0; each < 3; each += 1)
    expect(await invoke('admin', 'rare', '?dryRun=1')).toMatchObject({
      status: 200,
      body: { decision: 'allow', limits: { callsPerMinute: 2 } },
    })
  expect((await invoke('admin', 'rare')).status).toBe(200)
})

test('a dispatch has the state with the fewest calls left, and the model reads which call was refused', async () => {
  const calls = ['rare', 'rare', 'rare'].map((name, index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: '{}' },
  }))
  await limited('admin', 'PUT /limits/user/bob', { body: { callsPerMinute: 1_000, concurrent: 100 } })
  const answer = await limited('bob', 'POST /tools/dispatch', { body: calls })
  expect(answer.status).toBe(200)
  const results = answer.body['results'] as readonly { readonly result: { readonly code?: string } }[]
  expect(results.filter(({ result }) => result.code === 'LIMIT_EXCEEDED')).toHaveLength(1)
  expect(answer.headers.get('ratelimit')).toMatch(/"tool";r=0;t=\d+/)
})
