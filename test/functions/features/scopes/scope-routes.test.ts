import { afterEach, expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { definitionDigest } from '@toolrack/contract'
import { routeService, type Asked } from '../../../support/route-service.ts'

function defined(name: string, more: JsonObject = {}): ToolDefinition {
  const definition = { name, description: 'Does one thing.', parameters: { type: 'object', properties: {} } }
  return { type: 'function', function: definition, ...more } as unknown as ToolDefinition
}

const TOOLS = [
  defined('clock', { runner: { kind: 'builtin', builtin: 'time' } }),
  defined('git_pull', { category: 'git', tags: ['safe'] }),
  defined('git_push', { category: 'git' }),
  // It is in a list only if the list is asked for it.
  defined('search_tools', { runner: { kind: 'builtin', builtin: 'search_tools' } }),
  defined('web_search', { category: 'web', tags: ['safe'] }),
]
const ALL = TOOLS.map((tool) => tool.function.name).filter((name) => name !== 'search_tools')
const GRANTED = TOOLS.filter(({ function: { name } }) => ['clock', 'git_push'].includes(name))

const ask = await routeService(
  TOOLS,
  {},
  GRANTED.map((tool) => ({ name: tool.function.name, digest: definitionDigest(tool) })),
)

const OWNERS = ['room/7', 'room/!a%2Fb%3Ac', 'session/s', 'agent/7', 'workflow/w']

/** Every test starts without scopes. */
afterEach(async () => {
  for (const who of ['ann', 'bob'] as const)
    for (const owner of OWNERS) await ask(who, `DELETE /scopes/${owner}`)
})

async function listed(who: 'ann' | 'bob' | 'account' | 'token', query: string): Promise<readonly string[]> {
  const { status, body } = await ask(who, `GET /tools/list?${query}`)
  expect(status).toBe(200)
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}

const store = (owner: string, scope: string, more: object = {}, who: 'ann' | 'bob' = 'ann') =>
  ask(who, `PUT /scopes/${owner}`, { body: { scope, ...more } })
const command = (owner: string, text: string, more: Asked = {}) =>
  ask('ann', `POST /scopes/${owner}/commands`, { body: { text }, ...more })

test('a stored scope is written, read in its canonical text, used by reference, and deleted', async () => {
  const written = await store('room/7', ' @web , git_*,!git_push')
  expect(written).toMatchObject({
    status: 201,
    body: {
      owner: { kind: 'room', id: '7' },
      outcome: 'created',
      scope: '@web,git_*,!git_push',
      pinned: [],
      version: 1,
      unmatched: [],
    },
  })
  const read = await ask('ann', 'GET /scopes/room/7')
  expect(read.body).toMatchObject({ scope: '@web,git_*,!git_push', version: 1 })
  expect(read.headers.get('etag')).toBe(written.headers.get('etag'))
  expect(await listed('ann', 'scope=ref:room/7')).toEqual(['git_pull', 'web_search'])
  expect(await listed('account', 'scope=ref:room/7')).toEqual(['git_pull', 'web_search'])
  expect(await ask('ann', 'DELETE /scopes/room/7')).toMatchObject({
    status: 200,
    body: { outcome: 'deleted' },
  })
  for (const request of ['GET /scopes/room/7', 'DELETE /scopes/room/7', 'GET /scopes/room/7/versions'])
    expect(await ask('ann', request)).toMatchObject({ status: 404, code: 'SCOPE_NOT_FOUND' })
})

test('each list shows the last write, although the lists before it are kept', async () => {
  for (const [scope, names] of [
    ['none', []],
    ['@git', ['git_pull', 'git_push']],
    ['none', []],
    ['all', ALL],
  ] as const) {
    await store('room/7', scope)
    expect(await listed('ann', 'scope=ref:room/7')).toEqual(names)
  }
  const before = await ask('ann', 'GET /tools/list?scope=ref:room/7')
  const etag = before.headers.get('etag') ?? ''
  const again = await ask('ann', 'GET /tools/list?scope=ref:room/7', { headers: { 'If-None-Match': etag } })
  expect(again.status).toBe(304)
  await store('room/7', 'none')
  const after = await ask('ann', 'GET /tools/list?scope=ref:room/7', { headers: { 'If-None-Match': etag } })
  expect([after.status, after.body]).toEqual([200, []])
  const [one, other] = [before, after].map(({ headers }) => headers.get('x-tools-revision')?.split(':'))
  expect(other?.[0]).toBe(one?.[0])
  expect(other?.[1]).not.toBe(one?.[1])
})

test('scopes belong to one user, to one kind and to one id', async () => {
  await store('room/7', 'git_push')
  await store('agent/7', 'git_pull')
  await store('room/7', 'web_search', {}, 'bob')
  expect(await listed('ann', 'scope=ref:room/7')).toEqual(['git_push'])
  expect(await listed('ann', 'scope=ref:agent/7')).toEqual(['git_pull'])
  expect(await listed('bob', 'scope=ref:room/7')).toEqual(['web_search'])
  expect(await ask('bob', 'GET /tools/list?scope=ref:agent/7')).toMatchObject({
    status: 404,
    code: 'SCOPE_NOT_FOUND',
  })
  const { body } = await ask('ann', 'GET /scopes')
  expect(body).toMatchObject({
    scopes: [
      { owner: { kind: 'agent', id: '7' }, scope: 'git_pull' },
      { owner: { kind: 'room', id: '7' }, scope: 'git_push' },
    ],
  })
})

test('several scopes are combined by intersection, and what is pinned stays in', async () => {
  await store('room/7', '@git', { pinned: ['clock', 'no_such'] })
  await store('agent/7', 'tag:safe')
  expect(await listed('ann', 'scope=ref:room/7')).toEqual(['clock', 'git_pull', 'git_push'])
  expect(await listed('ann', 'scope=ref:room/7&scope=ref:agent/7')).toEqual(['clock', 'git_pull'])
  expect(await listed('ann', 'scope=none&scope=ref:room/7')).toEqual(['clock'])
  expect(await listed('ann', 'scope=ref:room/7&tags=safe')).toEqual(['git_pull'])
  expect(await listed('token', 'scope=ref:room/7')).toEqual(['clock', 'git_push'])
  expect(await listed('token', 'scope=ref:agent/7')).toEqual([])
})

test('the stored scopes of a session, its room, its agent and its workflow apply to its lists, and never to its calls', async () => {
  const session = { selection: ['clock', 'git_pull', 'git_push'], room: '7', agent: '7', workflow: 'w' }
  expect((await ask('ann', 'PUT /sessions/s', { body: session })).status).toBe(201)
  const names = () => listed('ann', 'session=s')
  expect(await names()).toEqual(['clock', 'git_pull', 'git_push'])
  // One after the other, and each only takes away.
  for (const [owner, scope, expected] of [
    ['room/7', '!web_search', ['clock', 'git_pull', 'git_push']],
    ['agent/7', '@git,@web,clock', ['clock', 'git_pull', 'git_push']],
    ['workflow/w', '!git_push', ['clock', 'git_pull']],
    ['session/s', '@git', ['git_pull']],
    ['room/8', 'none', ['git_pull']],
  ] as const) {
    await store(owner, scope)
    expect(await names()).toEqual(expected)
  }
  expect((await ask('ann', 'GET /sessions/s/tools')).body).toMatchObject([{ function: { name: 'git_pull' } }])
  expect(await listed('ann', 'session=s&scope=!git_pull')).toEqual([])
  // What is pinned gets past scopes, and not past the selection.
  await store('agent/7', 'none', { pinned: ['clock', 'web_search'] })
  expect(await names()).toEqual(['clock'])
  const hidden = async (name: string) =>
    (await ask('ann', `GET /tools/explain?name=${name}&session=s`)).body['hidden']
  expect(await hidden('git_pull')).toMatchObject({ reason: 'OUT_OF_SCOPE', scope: 'ref:agent/7' })
  expect(await hidden('web_search')).toMatchObject({ reason: 'NOT_SELECTED' })
  const call = { body: { name: 'clock', arguments: {} } }
  await store('room/7', 'none')
  await store('agent/7', 'none')
  expect(await names()).toEqual([])
  expect((await ask('ann', 'POST /tools/invoke?session=s', call)).body).toMatchObject({
    resultType: 'success',
  })
  await ask('ann', 'DELETE /scopes/room/8')
  await ask('ann', 'DELETE /sessions/s')
})

test('an id may have any printable ASCII characters', async () => {
  await store('room/!a%2Fb%3Ac', 'none')
  expect(await listed('ann', 'scope=ref:room/!a/b:c')).toEqual([])
  expect(await listed('ann', 'scope=%20ref:room%2F!a%2Fb%3Ac%20')).toEqual([])
})

test('a write with If-Match happens in that state only, and an equal write is no version', async () => {
  const first = (await store('room/7', 'git_*')).headers.get('etag') ?? ''
  const match = { headers: { 'If-Match': first } }
  const put = (scope: string, headers: Asked) =>
    ask('ann', 'PUT /scopes/room/7', { body: { scope }, ...headers })
  expect(await put('@web', { headers: { 'If-None-Match': '*' } })).toMatchObject({ status: 412 })
  expect(await put('git_*,git_*', match)).toMatchObject({ status: 200, body: { outcome: 'unchanged' } })
  expect(await put('@web', match)).toMatchObject({ status: 200, body: { outcome: 'updated', version: 2 } })
  expect(await put('@git', match)).toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' })
  expect(await command('room/7', '/tools off', match)).toMatchObject({ status: 412 })
  expect(await ask('ann', 'DELETE /scopes/room/7', match)).toMatchObject({ status: 412 })
  const { body } = await ask('ann', 'GET /scopes/room/7/versions')
  expect(body['versions']).toMatchObject([
    { version: 2, scope: '@web' },
    { version: 1, scope: 'git_*', digest: first.replaceAll('"', '') },
  ])
})

test('only the last 20 versions are kept', async () => {
  for (let number = 1; number <= 22; number += 1) await store('room/7', `tool_${number}`)
  const { body } = await ask('ann', 'GET /scopes/room/7/versions')
  const versions = body['versions'] as readonly { version: number }[]
  expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, index) => 22 - index))
})

test('the commands of a room set the scope and answer it with its tools', async () => {
  expect(await command('room/7', '/tools')).toMatchObject({
    status: 200,
    body: { outcome: 'shown', scope: 'all', total: 4, tools: ALL },
  })
  expect((await command('room/7', '/tools list')).body).toMatchObject({ outcome: 'shown', tools: ALL })
  expect((await ask('ann', 'GET /scopes/room/7')).status).toBe(404)
  const said = [
    ['/tools off', 'created', 'none', []],
    ['/tools internal', 'updated', '@internal', ['clock']],
    ['/tools git', 'updated', '@git', ['git_pull', 'git_push']],
    ['/tools git', 'unchanged', '@git', ['git_pull', 'git_push']],
    ['/tools on', 'updated', 'all', ALL],
  ] as const
  for (const [text, outcome, scope, tools] of said) {
    expect((await command('room/7', text)).body).toMatchObject({ outcome, scope, total: tools.length, tools })
    expect(await listed('ann', 'scope=ref:room/7')).toEqual(tools)
  }
  await store('room/7', 'none', { pinned: ['clock'] })
  expect((await command('room/7', '/tools holler')).body).toMatchObject({
    scope: '@holler',
    pinned: ['clock'],
    unmatched: ['@holler'],
    tools: ['clock'],
  })
})

test('what matches nothing is named and is no error', async () => {
  const answer = await ask('ann', 'GET /tools/list?scope=gti_*,!git_push,tag:%C3%BC%20b,@web&scope=*,!wbe_*')
  expect([answer.status, answer.headers.get('x-tools-scope-unmatched')]).toEqual([
    200,
    'gti_*,tag:%C3%BC%20b,wbe_*',
  ])
  expect((await ask('ann', 'GET /tools/list?scope=git_*')).headers.get('x-tools-scope-unmatched')).toBeNull()
  expect((await store('room/7', 'gti_*')).body).toMatchObject({ unmatched: ['gti_*'] })
  const shown = async (who: 'ann' | 'token', query: string) =>
    (await ask(who, `GET /tools/list?${query}`)).headers.get('x-tools-scope-unmatched')
  expect(await shown('ann', 'scope=ref:room/7')).toBe('gti_*')
  // The holder of a job token may use the scope, but not read it.
  expect(await shown('token', 'scope=ref:room/7')).toBeNull()
  const many = Array.from({ length: 22 }, (_, n) => `x${n}`).join()
  expect(await shown('token', `scope=${many}`)).toMatch(/^x0,.*,x19,\+2$/)
})

test('names that a scope leaves out are named apart from those that no tool has', async () => {
  const { headers, body } = await ask('ann', 'GET /tools/list?names=git_push,clock,nothing&scope=@internal')
  expect(body).toMatchObject([{ function: { name: 'clock' } }])
  expect([headers.get('x-tools-left-out'), headers.get('x-tools-unknown')]).toEqual(['git_push', 'nothing'])
})

test('explain says which stored scope leaves a tool out', async () => {
  await store('room/7', '!git_push')
  expect(
    (await ask('ann', 'GET /tools/explain?name=git_push&scope=all&scope=ref:room/7')).body,
  ).toMatchObject({
    visible: false,
    hidden: { reason: 'OUT_OF_SCOPE', scope: 'ref:room/7' },
  })
  expect((await ask('ann', 'GET /tools/explain?name=clock&scope=ref:room/7')).body).toMatchObject({
    visible: true,
  })
  expect(await ask('ann', 'GET /tools/explain?name=clock&scope=ref:room/8')).toMatchObject({ status: 404 })
})

const WRONG: readonly [string, string, Asked, string, string][] = [
  [
    'a fault in a scope',
    'PUT /scopes/room/7',
    { body: { scope: 'a,,b' } },
    '400 BODY_INVALID',
    'character 3. Is there',
  ],
  ['no scope', 'PUT /scopes/room/7', { body: {} }, '400 BODY_INVALID', '/scope'],
  ['a list as a scope', 'PUT /scopes/room/7', { body: { scope: ['a'] } }, '400 BODY_INVALID', '/scope'],
  ['another field', 'PUT /scopes/room/7', { body: { scope: 'a', x: 1 } }, '400 BODY_INVALID', 'nothing else'],
  [
    'a glob as pinned',
    'PUT /scopes/room/7',
    { body: { scope: 'a', pinned: ['a*'] } },
    '400 BODY_INVALID',
    '/pinned',
  ],
  [
    '51 pinned',
    'PUT /scopes/room/7',
    { body: { scope: 'a', pinned: Array(51).fill('a') } },
    '400 BODY_INVALID',
    '50',
  ],
  ['another kind', 'PUT /scopes/user/7', { body: { scope: 'a' } }, '404 SCOPE_NOT_FOUND', 'KIND is room'],
  [
    'an id with a blank',
    'PUT /scopes/room/a%20b',
    { body: { scope: 'a' } },
    '404 SCOPE_NOT_FOUND',
    'ID is 1 to 256',
  ],
  [
    'another command',
    'POST /scopes/room/7/commands',
    { body: { text: '/tool off' } },
    '400 BODY_INVALID',
    '/tools on',
  ],
  [
    'a command with two groups',
    'POST /scopes/room/7/commands',
    { body: { text: '/tools a,b' } },
    '400 BODY_INVALID',
    'character 9',
  ],
  ['no text', 'POST /scopes/room/7/commands', { body: {} }, '400 BODY_INVALID', '/tools off'],
  ['an unknown reference', 'GET /tools/list?scope=ref:room/8', {}, '404 SCOPE_NOT_FOUND', 'that room'],
  ['a reference of no kind', 'GET /tools/list?scope=ref:user/8', {}, '400 PARAMETER_INVALID', 'KIND is room'],
  ['a reference without an id', 'GET /tools/list?scope=ref:room', {}, '400 PARAMETER_INVALID', 'ref:KIND/ID'],
  [
    'a reference beside an item',
    'GET /tools/list?scope=a,ref:room/8',
    {},
    '400 PARAMETER_INVALID',
    'as the whole scope',
  ],
]
test.each(WRONG)('%s is refused with what to do', async (_, request, asked, expected, message) => {
  const { status, code, body } = await ask('ann', request, asked)
  expect(`${status} ${code}`).toBe(expected)
  expect((body['error'] as { message: string }).message).toContain(message)
})

test('a job token neither reads nor writes scopes, and a job account does both', async () => {
  await store('room/7', 'git_*')
  for (const request of [
    'GET /scopes',
    'GET /scopes/room/7',
    'GET /scopes/room/7/versions',
    'DELETE /scopes/room/7',
  ])
    expect(await ask('token', request)).toMatchObject({ status: 403, code: 'PERMISSION_DENIED' })
  expect(await ask('token', 'PUT /scopes/room/7', { body: { scope: 'all' } })).toMatchObject({ status: 403 })
  expect(await ask('account', 'PUT /scopes/room/7', { body: { scope: 'all' } })).toMatchObject({
    status: 200,
  })
  expect(await ask('account', 'GET /scopes/room/7')).toMatchObject({ body: { scope: 'all' } })
})
