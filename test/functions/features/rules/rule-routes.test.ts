import { afterEach, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { definitionDigest } from '@toolrack/contract'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import { until } from '../../../support/until.ts'
import { routeService } from '../../../support/route-service.ts'

const properties = {
  command: { type: 'string' },
  path: { type: 'string' },
  text: { type: 'string' },
}

function echo(name: string, classes: readonly string[] = ['read']): ToolDefinition {
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters: { type: 'object', properties } },
    runner: { kind: 'builtin', builtin: 'echo' },
    annotations: { classes },
  } as unknown as ToolDefinition
}

const SHELL = echo('cli:run_shell_command', ['code_execution'])
const WRITE = echo('files:write', ['file_write'])
const TOOLS = [SHELL, WRITE, echo('files:read'), echo('git:push', ['git_operations'])]

const GRANTED = TOOLS.filter(({ function: { name } }) => ['files:read', 'git:push'].includes(name))
const ask = await routeService(
  TOOLS,
  {},
  GRANTED.map((tool) => ({ name: tool.function.name, digest: definitionDigest(tool) })),
)

const READ_GRANT = { name: 'files:read', digest: definitionDigest(echo('files:read')) }

/** A service whose rules cannot be read as long as there is a fault. The operator's file denies `git:push`. */
const store = { fault: new Error('the store is away') as Error | undefined }
const lost = await routeService([echo('files:read'), echo('git:push')], {
  governance: faultyGovernance((name, does) =>
    name === 'rules' && does === 'read' ? store.fault : undefined,
  ),
  operatorRules: {
    owner: { kind: 'everybody', id: 'file' },
    set: { default: 'allow', rules: [{ effect: 'deny', tool: 'git:*' }] },
  },
})

/** Every test starts without rules. */
afterEach(async () => {
  for (const owner of ['everybody/all', 'user/ann']) await ask('admin', `DELETE /rules/${owner}`)
  await ask('ann', 'DELETE /rules/workflow/nightly')
})

const deny = (tool: string, more: object = {}) => ({ rules: [{ effect: 'deny', tool, ...more }] })

async function listed(who: 'ann' | 'bob' | 'token', query = '') {
  const { status, body } = await ask(who, `GET /tools/list${query}`)
  expect(status).toBe(200)
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}

const call = (who: 'ann' | 'bob' | 'token', name: string, args = {}) =>
  ask(who, 'POST /tools/invoke', { body: { name, arguments: args } })

test('a denied tool is in no list and under no alias, and a call by name is refused with the rule', async () => {
  const all = await listed('ann')
  const revision = (await ask('ann', 'GET /tools/list')).headers.get('x-tools-revision')
  expect(all).toContain('git:push')
  expect(await ask('ann', 'PUT /rules/user/ann', { body: deny('git:*') })).toMatchObject({ status: 201 })
  expect(await listed('ann')).toEqual(all.filter((name) => name !== 'git:push'))
  expect(await listed('bob')).toEqual(all)
  const after = await ask('ann', 'GET /tools/list?names=git:push,git__push')
  expect([after.body, after.headers.get('x-tools-unknown')]).toEqual([[], 'git:push,git__push'])
  expect(after.headers.get('x-tools-revision')).not.toBe(revision)
  const decision = {
    effect: 'deny',
    owner: { kind: 'user', id: 'ann' },
    rule: 0,
    reason: 'Rule 0 of the user ann says deny.',
  }
  for (const name of ['git:push', 'git__push'])
    expect(await call('ann', name)).toMatchObject({
      status: 403,
      body: {
        code: 'PERMISSION_DENIED',
        textResultForLlm: `git:push may not be called; nothing was run. ${decision.reason}`,
        meta: { tool: 'git:push', decision },
      },
    })
  expect(await ask('ann', 'GET /tools/explain?name=git__push')).toMatchObject({
    body: { name: 'git:push', visible: false, winner: null, hidden: { reason: 'DENIED', decision } },
  })
  const tools = [{ name: 'git:push', digest: definitionDigest(echo('git:push', ['git_operations'])) }]
  expect(await ask('ann', 'POST /jobs/tokens', { body: { workflowId: 'w', tools } })).toMatchObject({
    status: 403,
    code: 'PERMISSION_DENIED',
  })
  expect(await call('bob', 'git:push', { text: 'a' })).toMatchObject({ status: 200 })
  expect(await ask('ann', 'DELETE /rules/user/ann')).toMatchObject({ status: 200 })
  expect(await listed('ann')).toEqual(all)
})

test('a name that is like a denied tool is not told its name', async () => {
  expect((await call('ann', 'git:pusch')).body['textResultForLlm']).toMatch(/Did you mean 'git:push'/)
  await ask('ann', 'PUT /rules/user/ann', { body: deny('git:*') })
  expect((await call('ann', 'git:pusch')).body['textResultForLlm']).not.toMatch(/git:push'/)
})

test('in a dispatch the model reads the refusal, and the other calls run', async () => {
  await ask('admin', 'PUT /rules/everybody/all', { body: deny('git:push') })
  const body = ['git:push', 'files:read'].map((name, index) => ({
    type: 'tool_use',
    id: `call${index}`,
    name: name.replace(':', '__'),
    input: { text: 'a' },
  }))
  const { body: answer } = await ask('ann', 'POST /tools/dispatch', { body })
  expect(answer['results']).toMatchObject([
    { result: { code: 'PERMISSION_DENIED', meta: { decision: { owner: { kind: 'everybody' } } } } },
    { result: { resultType: 'success' } },
  ])
})

test.each([
  ['a shell joins another command', 'pytest x; rm -rf /'],
  ['a shell computes a command', 'pytest $(rm x)'],
  ['a list', ['pytest', 'x']],
  ['null', null],
  ['missing', undefined],
])('allow of `pytest *` does not allow a command with %s', async (_title, command) => {
  const rules = [{ effect: 'allow', tool: 'cli:run_shell_command', args: { command: 'pytest *' } }]
  await ask('ann', 'PUT /rules/user/ann', { body: { default: 'deny', rules } })
  expect(await call('ann', 'cli:run_shell_command', { command: 'pytest x' })).toMatchObject({
    status: 200,
  })
  const { status, code } = await call('ann', 'cli:run_shell_command', { command })
  expect([status, code]).toEqual([403, 'PERMISSION_DENIED'])
})

test('a path is normalised before it is compared', async () => {
  const rules = [{ effect: 'allow', tool: 'files:*', args: { path: 'src/**' } }]
  await ask('ann', 'PUT /rules/user/ann', { body: { default: 'deny', rules } })
  expect(await call('ann', 'files:write', { path: 'src/./a/../b.ts' })).toMatchObject({ status: 200 })
  for (const path of ['src/../etc/passwd', 'src', '/src/a', 'src\\..\\x'])
    expect(await call('ann', 'files:write', { path })).toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('the rules of a user only take away: an allow lifts no deny for everybody', async () => {
  await ask('admin', 'PUT /rules/everybody/all', { body: deny('git:push') })
  const rules = [{ effect: 'allow', tool: 'git:push' }]
  expect(await ask('ann', 'PUT /rules/user/ann', { body: { rules } })).toMatchObject({ status: 201 })
  expect(await listed('ann')).not.toContain('git:push')
  expect(await call('ann', 'git:push')).toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('the rules of a workflow apply to the job token that names it, and to no other call of the user', async () => {
  expect(await listed('token')).toEqual(['files:read', 'git:push'])
  const path = `/rules/workflow/${encodeURIComponent('nightly')}`
  expect(await ask('ann', `PUT ${path}`, { body: deny('git:push') })).toMatchObject({ status: 201 })
  expect(await listed('ann')).toContain('git:push')
  expect(await listed('token')).toEqual(['files:read'])
  expect(await call('token', 'git:push')).toMatchObject({
    code: 'PERMISSION_DENIED',
    body: { meta: { decision: { owner: { kind: 'workflow' } } } },
  })
})

test.each([
  ['a misspelt key', { rules: [{ effect: 'deny', tol: 'git:*' }] }, '/rules/0'],
  ['a misspelt effect', { rules: [{ effect: 'denny', tool: 'git:*' }] }, '/rules/0/effect'],
  ['a class that does not exist', deny('*', { class: 'file_wirte' }), '/rules/0/class'],
  ['a list', [], ''],
  ['a class that none of the tools has', deny('git:*', { class: 'file_read' }), '/rules/0/class'],
])('rules with %s are refused with the place of the fault', async (_title, body, pointer) => {
  const refused = await ask('ann', 'PUT /rules/user/ann', { body })
  expect([refused.status, refused.code]).toEqual([422, 'RULE_INVALID'])
  const { error } = refused.body as { error: { details: readonly object[] } }
  expect(error.details[0]).toMatchObject({ pointer, message: expect.any(String) })
  expect(await ask('ann', 'GET /rules/user/ann')).toMatchObject({ status: 404, code: 'RULES_NOT_FOUND' })
})

test('rules that match nothing are refused with what was probably meant, unless they are for the future', async () => {
  const idle = [
    { effect: 'deny', tool: 'git:pusch' },
    { effect: 'deny', tool: 'files:write', args: { pat: 'a' } },
    { effect: 'deny', tool: 'nothing:*' },
  ]
  const refused = await ask('ann', 'PUT /rules/user/ann', { body: { rules: idle } })
  const { error } = refused.body as { error: { details: readonly object[] } }
  expect(error.details).toMatchObject([
    { pointer: '/rules/0/tool', suggestion: 'git:push' },
    { pointer: '/rules/1/args/pat', suggestion: 'path' },
    { pointer: '/rules/2/tool' },
  ])
  const rules = idle.map((rule) => ({ ...rule, future: true }))
  expect(await ask('ann', 'PUT /rules/user/ann', { body: { rules } })).toMatchObject({ status: 201 })
})

test('a write obeys If-Match and If-None-Match, and the entity tag is that of the rules', async () => {
  const put = (body: object, headers: Record<string, string> = {}) =>
    ask('ann', 'PUT /rules/user/ann', { body, headers })
  const first = await put(deny('git:*'), { 'If-None-Match': '*' })
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"sha256:[0-9a-f]{64}"$/)
  expect(await put(deny('files:*'), { 'If-None-Match': '*' })).toMatchObject({ code: 'PRECONDITION_FAILED' })
  expect(await put(deny('files:*'), { 'If-Match': '"sha256:other"' })).toMatchObject({ status: 412 })
  expect(await put(deny('git:*'))).toMatchObject({ status: 200, body: { outcome: 'unchanged' } })
  expect(await put(deny('files:*'), { 'If-Match': etag })).toMatchObject({ body: { outcome: 'updated' } })
  const found = await ask('ann', 'GET /rules/user/ann')
  expect(found.body).toMatchObject({ owner: { kind: 'user', id: 'ann' }, default: 'allow', updatedBy: 'ann' })
  const again = await ask('ann', 'DELETE /rules/user/ann', { headers: { 'If-Match': etag } })
  expect(again).toMatchObject({ code: 'PRECONDITION_FAILED' })
})

test('the versions of rules say what they were, by whom, also after they were deleted', async () => {
  const versions = async (owner: string) => {
    const { status, body } = await ask('ann', `GET /rules/${owner}/versions`)
    return status === 200 ? (body['versions'] as Record<string, unknown>[]) : status
  }
  expect(await versions('workflow/nightly')).toBe(404)
  const before = ((await versions('user/ann')) as Record<string, unknown>[])[0]?.['version'] as number
  for (const tool of ['git:*', 'git:*', 'files:*'])
    await ask('ann', 'PUT /rules/user/ann', { body: deny(tool) })
  await ask('admin', 'PUT /rules/user/ann', { body: deny('git:push') })
  await ask('ann', 'DELETE /rules/user/ann')
  const found = (await versions('user/ann')) as Record<string, unknown>[]
  const facts = { updatedAt: expect.any(String), default: 'allow' }
  expect(found.slice(0, 4)).toEqual([
    { version: before + 4, digest: null, updatedAt: expect.any(String), updatedBy: 'ann', isDeleted: true },
    { ...facts, version: before + 3, digest: expect.any(String), updatedBy: 'root', ...deny('git:push') },
    { ...facts, version: before + 2, digest: expect.any(String), updatedBy: 'ann', ...deny('files:*') },
    { ...facts, version: before + 1, digest: expect.any(String), updatedBy: 'ann', ...deny('git:*') },
  ])
  for (const tool of ['git:*', 'files:*'])
    await ask('ann', 'PUT /rules/workflow/nightly', { body: deny(tool) })
  expect(await versions('workflow/nightly')).toMatchObject([{ version: 2 }, { version: 1 }])
  await ask('ann', 'DELETE /rules/workflow/nightly')
  expect(await versions('workflow/nightly')).toBe(404)
  expect((await ask('bob', 'GET /rules/user/ann/versions')).status).toBe(403)
})

test('a simulation says what would happen, and an admin may ask for another user', async () => {
  const rules = [
    { effect: 'ask', tool: 'files:write', args: { path: 'src/**' } },
    { effect: 'deny', tool: 'git:*' },
  ]
  await ask('ann', 'PUT /rules/user/ann', { body: { rules } })
  const asked = (who: 'ann' | 'bob' | 'admin', name: string, more: object = {}) =>
    ask(who, 'POST /permissions/simulate', { body: { name, ...more } })
  expect((await asked('ann', 'files:write', { arguments: { path: 'src/a' } })).body).toEqual({
    name: 'files:write',
    effect: 'ask',
    owner: { kind: 'user', id: 'ann' },
    rule: 0,
    reason: 'Rule 0 of the user ann says ask.',
    classes: ['file_write'],
    listed: true,
    approval: null,
    code: 'APPROVAL_REQUIRED',
    message: null,
  })
  const push = await asked('admin', 'git:push', { as: { uid: 'ann' } })
  expect(push.body).toMatchObject({ effect: 'deny', rule: 1, classes: ['git_operations'], listed: false })
  expect((await asked('bob', 'git:push')).body).toMatchObject({ effect: 'allow', owner: null, listed: true })
  expect(await asked('bob', 'git:push', { as: { uid: 'ann' } })).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(await asked('ann', 'none')).toMatchObject({ code: 'TOOL_NOT_FOUND' })
  expect(await asked('ann', 'git:push', { as: [] })).toMatchObject({ code: 'BODY_INVALID' })
})

test('rules that cannot be read leave a list that says so, and refuse strict lists, calls and tokens', async () => {
  const list = await lost('ann', 'GET /tools/list')
  expect([list.status, list.headers.get('X-Tools-Layers')]).toEqual([
    200,
    'user=0,global=0,file=2,rules=error',
  ])
  expect(list.body).toMatchObject([{ function: { name: 'files:read' } }])
  expect(await lost('ann', 'GET /tools/list?strict=1')).toMatchObject({
    status: 503,
    code: 'LAYER_UNAVAILABLE',
  })
  expect((await lost('ann', 'GET /tools/explain?name=files:read')).body).toMatchObject({ visible: true })
  const call = { body: { name: 'files:read', arguments: {} } }
  for (const [request, asked] of [
    ['POST /tools/invoke', call],
    ['POST /tools/invoke?dryRun=1', call],
    ['POST /permissions/simulate', call],
    ['POST /jobs/tokens', { body: { workflowId: 'nightly', tools: [READ_GRANT] } }],
  ] as const)
    expect(await lost('ann', request, asked)).toMatchObject({ status: 503, code: 'STORE_FAILED' })
  expect((await lost('nobody', 'GET /health')).body).toMatchObject({ status: 'degraded' })
  expect((await lost('ann', 'GET /health')).body).toMatchObject({ rules: 'error' })
  store.fault = undefined
  const headers = { 'If-None-Match': list.headers.get('ETag') ?? '' }
  const whole = await until(
    () => lost('ann', 'GET /tools/list', { headers }),
    (answer) => answer.headers.get('X-Tools-Layers') === 'user=0,global=0,file=2',
  )
  expect(whole.status).toBe(200)
  expect(whole.headers.get('ETag')).not.toBe(list.headers.get('ETag'))
})
