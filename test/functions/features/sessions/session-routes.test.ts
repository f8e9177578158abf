import { expect, test } from '@jest/globals'
import { definitionDigest, type ToolDefinition } from '@toolrack/contract'
import { isSessionId } from '../../../../functions/src/features/sessions/session.ts'
import { routeService, type Answered, type Asker, type RefusedRow } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

function echo(name: string, description = 'Echoes.'): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  return {
    type: 'function',
    function: { name, description, parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
  } as unknown as ToolDefinition
}

const NAMES = ['files:read', 'files:write', 'git:log', 'git:push', 'web:fetch']
const TOOLS = NAMES.map((name) => echo(name))
const GRANTED = TOOLS.filter(({ function: { name } }) => ['files:read', 'git:push'].includes(name))
let nowMs = NOW
const ask = await routeService(
  TOOLS,
  { now: () => nowMs },
  GRANTED.map((tool) => ({ name: tool.function.name, digest: definitionDigest(tool) })),
)

/** Each test has sessions of its own. */
let last = 0
const newId = (): string => `s${(last += 1)}`

const put = (id: string, body: object, who: Asker = 'ann'): Promise<Answered> =>
  ask(who, `PUT /sessions/${id}`, { body })
const firstMessage = (id: string, body: object = {}): Promise<Answered> =>
  ask('ann', `POST /sessions/${id}/messages`, { body })

/** A new session with this selection. */
async function sessionWith(selection: unknown, more: object = {}): Promise<string> {
  const id = newId()
  expect((await put(id, { selection, ...more })).status).toBe(201)
  return id
}

function namesIn({ status, body }: Answered): readonly string[] {
  expect(status).toBe(200)
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}
const listed = async (id: string, query = '', who: Asker = 'ann'): Promise<readonly string[]> =>
  namesIn(await ask(who, `GET /tools/list?session=${id}${query}`))

const call = (id: string, name: string, who: Asker = 'ann', query = ''): Promise<Answered> =>
  ask(who, `POST /tools/invoke?session=${id}${query}`, { body: { name, arguments: { text: 'hi' } } })

test('three chosen tools are listed and called, a fourth is refused with the reason, and so after the first message', async () => {
  const chosen = ['files:read', 'git:log', 'web:fetch']
  const id = await sessionWith(chosen)
  for (const round of ['before', 'after']) {
    expect(await listed(id)).toEqual(chosen)
    expect(namesIn(await ask('ann', `GET /sessions/${id}/tools`))).toEqual(chosen)
    for (const name of [...chosen, 'git__log'])
      expect((await call(id, name)).body).toMatchObject({ resultType: 'success', textResultForLlm: 'hi' })
    for (const name of ['git:push', 'git__push']) {
      const refused = await call(id, name)
      expect([refused.status, refused.code]).toEqual([403, 'NOT_SELECTED'])
      expect(refused.body['textResultForLlm']).toContain(
        round === 'before' ? 'git:push is not in the selection of this session' : 'fork the session',
      )
    }
    await firstMessage(id)
  }
})

test('an unlocked session follows the catalog, and a lock freezes the names of that moment', async () => {
  const id = await sessionWith('all')
  const later = echo('later:tool')
  await ask('ann', 'PUT /tools/defs/early:tool', { body: echo('early:tool') })
  expect(await listed(id)).toEqual(['early:tool', ...NAMES])
  const locked = await firstMessage(id)
  const digests = new Map(
    [...TOOLS, echo('early:tool')].map((one) => [one.function.name, definitionDigest(one)]),
  )
  expect(locked.body).toEqual({
    lockedAt: new Date(NOW).toISOString(),
    tools: ['early:tool', ...NAMES].map((name) => ({ name, digest: digests.get(name) })),
  })
  await ask('ann', 'PUT /tools/defs/later:tool', { body: later })
  expect(namesIn(await ask('ann', 'GET /tools/list'))).toContain('later:tool')
  expect(await listed(id)).toEqual(['early:tool', ...NAMES])
  expect((await call(id, 'later:tool')).code).toBe('NOT_SELECTED')
  for (const name of ['early:tool', 'later:tool']) await ask('ann', `DELETE /tools/defs/${name}`)
})

test('the same first message again is the same answer, and another is refused', async () => {
  const id = await sessionWith('all')
  const first = await firstMessage(id, { selection: ['git__log', 'files:read'] })
  expect(first.status).toBe(200)
  for (const again of [{}, { selection: ['files:read', 'git:log'] }])
    expect((await firstMessage(id, again)).body).toEqual(first.body)
  for (const other of [{ selection: 'all' }, { selection: 'none' }, { selection: ['files:read'] }])
    expect((await firstMessage(id, other)).code).toBe('SESSION_LOCKED')
  expect(await listed(id)).toEqual(['files:read', 'git:log'])
})

test('of two first messages at once exactly one locks; an equal one gets its answer', async () => {
  const id = await sessionWith('all')
  const [one, other, equal] = await Promise.all([
    firstMessage(id, { selection: ['files:read'] }),
    firstMessage(id, { selection: ['git:log'] }),
    firstMessage(id, { selection: ['files:read'] }),
  ])
  const statuses = [one.status, other.status, equal.status]
  expect([
    [200, 409, 200],
    [409, 200, 409],
  ]).toContainEqual(statuses)
  if (one.status === 200) expect(equal.body).toEqual(one.body)
  expect(await listed(id)).toHaveLength(1)
})

test('a write and a first message at once: either the lock holds the new selection, or the write is refused', async () => {
  for (let round = 0; round < 5; round += 1) {
    const id = await sessionWith(['files:read', 'git:log'])
    const [written, locked] = await Promise.all([put(id, { selection: ['files:read'] }), firstMessage(id)])
    const names = (locked.body['tools'] as { name: string }[]).map(({ name }) => name)
    expect(locked.status).toBe(200)
    expect(names).toEqual(written.status === 200 ? ['files:read'] : ['files:read', 'git:log'])
    expect(await listed(id)).toEqual(names)
  }
})

test('of a locked session only the model, the workflow and the room change', async () => {
  const id = await sessionWith(['files:read'], { agent: 'coder' })
  await firstMessage(id)
  const same = { selection: ['files:read'], agent: 'coder' }
  expect((await put(id, same)).body).toMatchObject({ outcome: 'unchanged' })
  const moved = await put(id, { ...same, model: 'another/model', room: 'r1', workflow: 'nightly' })
  expect(moved.body).toMatchObject({
    outcome: 'updated',
    model: 'another/model',
    tools: [{ name: 'files:read' }],
  })
  for (const other of [
    { ...same, selection: 'all' },
    { ...same, agent: 'other' },
    { ...same, lockDigests: true },
    { ...same, selection: undefined },
  ])
    expect(await put(id, other)).toMatchObject({
      code: 'SESSION_LOCKED',
      body: { error: { message: expect.stringContaining('a PUT must repeat them') } },
    })
  expect((await call(id, 'git:log')).code).toBe('NOT_SELECTED')
})

test('a selection of unknown tools names a similar tool, and of denied tools the rule', async () => {
  const refused = await put(newId(), { selection: ['files:read', 'files:raed', 'x'.repeat(200), 'git:log'] })
  expect([refused.status, refused.code]).toEqual([422, 'SELECTION_INVALID'])
  const { details, message } = refused.body['error'] as { details: object[]; message: string }
  expect(details).toMatchObject([
    { pointer: '/selection/1', suggestion: 'files:read' },
    { pointer: '/selection/2' },
  ])
  expect(message).toContain("Did you mean 'files:read'?")
  expect(message).not.toContain('xxx')
  await ask('ann', 'PUT /rules/user/ann', { body: { rules: [{ effect: 'deny', tool: 'git:push' }] } })
  const denied = await put(newId(), { selection: ['git:push'] })
  expect(denied.code).toBe('SELECTION_INVALID')
  expect(JSON.stringify(denied.body)).toContain('names a tool that a rule denies')
  await ask('ann', 'DELETE /rules/user/ann')
})

test('a tool that was chosen and then deleted stops the first message, until the selection is made anew', async () => {
  await ask('ann', 'PUT /tools/defs/gone:tool', { body: echo('gone:tool') })
  const id = await sessionWith(['files:read', 'gone:tool'])
  await ask('ann', 'DELETE /tools/defs/gone:tool')
  expect((await firstMessage(id)).code).toBe('SELECTION_INVALID')
  expect((await firstMessage(id, { selection: ['files:read'] })).status).toBe(200)
})

test('with lockDigests a changed tool is marked in the list and refused when it is called', async () => {
  await ask('ann', 'PUT /tools/defs/own:tool', { body: echo('own:tool') })
  const [bound, free] = [
    await sessionWith(['own:tool', 'git:log'], { lockDigests: true }),
    await sessionWith(['own:tool']),
  ]
  for (const id of [bound, free]) await firstMessage(id)
  expect((await call(bound, 'own:tool')).status).toBe(200)
  await ask('ann', 'PUT /tools/defs/own:tool', { body: echo('own:tool', 'Echoes twice.') })
  const list = await ask('ann', `GET /tools/list?session=${bound}`)
  expect(list.headers.get('X-Tools-Changed')).toBe('own:tool')
  expect(namesIn(list)).toEqual(['own:tool', 'git:log'])
  const refused = await call(bound, 'own:tool')
  expect([refused.status, refused.code]).toEqual([409, 'DIGEST_CHANGED'])
  expect((await call(free, 'own:tool')).status).toBe(200)
  expect((await ask('ann', `GET /tools/list?session=${free}`)).headers.get('X-Tools-Changed')).toBeNull()
  await ask('ann', 'DELETE /tools/defs/own:tool')
})

test('a list that was cached before the session changed is not sent again', async () => {
  const id = await sessionWith(['files:read', 'git:log'])
  const path = `GET /tools/list?session=${id}&dialect=openai`
  const etag = (await ask('ann', path)).headers.get('ETag') ?? ''
  expect((await ask('ann', path, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  await put(id, { selection: ['files:read'] })
  const after = await ask('ann', path, { headers: { 'If-None-Match': etag } })
  expect(after.status).toBe(200)
  expect(after.body).toHaveLength(1)
  await ask('ann', `DELETE /sessions/${id}`)
  expect((await ask('ann', path, { headers: { 'If-None-Match': etag } })).code).toBe('SESSION_NOT_FOUND')
})

test('the tools of a session are a list with all parameters of the list', async () => {
  const id = await sessionWith(['files:read', 'git:log', 'git:push'])
  const path = `GET /sessions/${id}/tools`
  expect(namesIn(await ask('ann', `${path}?scope=git:*`))).toEqual(['git:log', 'git:push'])
  expect(namesIn(await ask('ann', `${path}?names=git:log,web:fetch`))).toEqual(['git:log'])
  const first = await ask('ann', `${path}?limit=2`)
  expect(namesIn(first)).toEqual(['files:read', 'git:log'])
  const [, next = ''] = /<[^?]*(\?[^>]*)>/.exec(first.headers.get('Link') ?? '') ?? []
  expect(namesIn(await ask('ann', `${path}${next}`))).toEqual(['git:push'])
  expect((await ask('ann', `${path}?session=${id}`)).code).toBe('PARAMETER_INVALID')
})

test('explain says that a tool is not selected', async () => {
  const id = await sessionWith(['files:read'])
  const { body } = await ask('ann', `GET /tools/explain?name=git:log&session=${id}`)
  expect(body).toMatchObject({ visible: false, hidden: { reason: 'NOT_SELECTED' } })
  const chosen = await ask('ann', `GET /tools/explain?name=files:read&session=${id}`)
  expect(chosen.body).toMatchObject({ visible: true, hidden: null })
})

test('dispatch, dry runs and streams obey the selection', async () => {
  const id = await sessionWith(['files:read'])
  const calls = ['files__read', 'git__log'].map((name) => ({
    type: 'tool_use',
    id: name,
    name,
    input: { text: 'x' },
  }))
  const { body } = await ask('ann', `POST /tools/dispatch?session=${id}`, { body: calls })
  expect(body['results']).toMatchObject([
    { result: { resultType: 'success' } },
    { result: { code: 'NOT_SELECTED', textResultForLlm: expect.stringContaining('git:log is not in') } },
  ])
  expect((await call(id, 'git:log', 'ann', '&dryRun=1')).code).toBe('NOT_SELECTED')
  expect((await call(id, 'files:read', 'ann', '&dryRun=1')).body).toMatchObject({ decision: 'allow' })
  const headers = { Accept: 'text/event-stream, application/json;q=0.9' }
  const streamed = { body: { name: 'git:log', arguments: { text: 'x' } }, headers }
  expect((await ask('ann', `POST /tools/invoke?session=${id}`, streamed)).code).toBe('NOT_SELECTED')
})

test('an unknown tool is not found through a session either, and only a selected tool is suggested', async () => {
  const id = await sessionWith(['files:read'])
  expect((await call(id, 'files:reed')).body['textResultForLlm']).toContain("Did you mean 'files:read'?")
  expect((await call(id, 'git:logs')).body['textResultForLlm']).toBe('Unsupported tool: git:logs')
})

test('sessions are of one user, and those of another are answered like none', async () => {
  const id = await sessionWith(['files:read'])
  for (const request of [
    `GET /sessions/${id}`,
    `DELETE /sessions/${id}`,
    `GET /sessions/${id}/tools`,
    `GET /tools/list?session=${id}`,
    `GET /tools/explain?session=${id}&name=files:read`,
  ]) {
    const [others, none] = [await ask('bob', request), await ask('ann', request.replace(id, 'no-such'))]
    expect(others.code).toBe('SESSION_NOT_FOUND')
    expect([others.status, others.body]).toEqual([none.status, none.body])
  }
  expect((await call(id, 'files:read', 'bob')).code).toBe('SESSION_NOT_FOUND')
  expect((await call('no-such', 'files:read')).code).toBe('SESSION_NOT_FOUND')
  const post = (path: string) => ask('bob', `POST /sessions/${id}/${path}`, { body: { id: 'forked' } })
  expect((await post('fork')).code).toBe('SESSION_NOT_FOUND')
  expect((await ask('bob', `POST /sessions/${id}/messages`, { body: {} })).code).toBe('SESSION_NOT_FOUND')
})

test('the account of a job uses and writes the sessions of its user', async () => {
  const id = newId()
  expect((await put(id, { selection: ['git:log'] }, 'account')).status).toBe(201)
  expect(await listed(id)).toEqual(['git:log'])
  expect(await listed(id, '', 'account')).toEqual(['git:log'])
})

test('a job token lists and calls through a session what it names, and neither reads nor writes one', async () => {
  const id = await sessionWith(['files:read', 'git:log'])
  expect(await listed(id, '', 'token')).toEqual(['files:read'])
  expect((await call(id, 'files:read', 'token')).status).toBe(200)
  expect((await call(id, 'git:push', 'token')).code).toBe('NOT_SELECTED')
  expect((await call(id, 'git:log', 'token')).code).toBe('PERMISSION_DENIED')
  for (const request of [
    `GET /sessions/${id}`,
    'GET /sessions',
    `PUT /sessions/${id}`,
    `DELETE /sessions/${id}`,
  ])
    expect((await ask('token', request, request.startsWith('PUT') ? { body: {} } : {})).code).toBe(
      'PERMISSION_DENIED',
    )
})

test('writes obey If-Match and If-None-Match, and a repeated write changes nothing', async () => {
  const id = newId()
  const write = (headers: Record<string, string>, selection: unknown = 'none') =>
    ask('ann', `PUT /sessions/${id}`, { body: { selection }, headers })
  expect((await write({ 'If-Match': '*' })).code).toBe('PRECONDITION_FAILED')
  const made = await write({ 'If-None-Match': '*' })
  expect([made.status, made.body['outcome']]).toEqual([201, 'created'])
  const etag = made.headers.get('ETag') ?? ''
  expect((await write({ 'If-None-Match': '*' })).code).toBe('PRECONDITION_FAILED')
  expect((await write({ 'If-Match': etag })).body).toMatchObject({ outcome: 'unchanged' })
  const read = await ask('ann', `GET /sessions/${id}`, { headers: { 'If-None-Match': etag } })
  expect(read.status).toBe(304)
  expect((await write({ 'If-Match': etag }, 'all')).body).toMatchObject({
    outcome: 'updated',
    selection: 'all',
  })
  expect((await write({ 'If-Match': etag }, 'none')).code).toBe('PRECONDITION_FAILED')
  const wrong = await ask('ann', `DELETE /sessions/${id}`, { headers: { 'If-Match': etag } })
  expect(wrong.code).toBe('PRECONDITION_FAILED')
  expect((await ask('ann', `DELETE /sessions/${id}`)).status).toBe(204)
  expect((await ask('ann', `DELETE /sessions/${id}`)).code).toBe('SESSION_NOT_FOUND')
})

test('a fork copies what it does not say, and is not locked', async () => {
  const id = await sessionWith(['files:read', 'git:log'], { model: 'm', agent: 'coder', room: 'r' })
  await firstMessage(id)
  const fork = newId()
  const forked = await ask('ann', `POST /sessions/${id}/fork`, { body: { id: fork, model: 'other' } })
  expect(forked.status).toBe(201)
  expect(forked.body).toMatchObject({
    id: fork,
    model: 'other',
    agent: 'coder',
    room: 'r',
    lockedAt: null,
    selection: ['files:read', 'git:log'],
  })
  const again = await ask('ann', `POST /sessions/${id}/fork`, { body: { id: fork, model: 'other' } })
  expect(again.body).toMatchObject({ outcome: 'unchanged' })
  expect((await ask('ann', `POST /sessions/${id}/fork`, { body: { id: fork } })).code).toBe('NAME_TAKEN')
  const anew = newId()
  await ask('ann', `POST /sessions/${id}/fork`, { body: { id: anew, selection: 'all' } })
  expect(await listed(anew)).toEqual(NAMES)
  expect(await listed(id)).toEqual(['files:read', 'git:log'])
})

test("a sub-agent's session never exceeds its parent, also when the parent is narrowed later", async () => {
  const parent = await sessionWith(['files:read', 'git:log'])
  const wider = await put(newId(), { parent, selection: ['files:read', 'git:push', 'web:fetch'] })
  expect([wider.status, wider.code]).toEqual([409, 'SELECTION_WIDER'])
  expect((wider.body['error'] as { message: string }).message).toContain(
    'does not have these tools: git:push, web:fetch. ',
  )
  const [same, narrow] = [await sessionWith('all', { parent }), await sessionWith(['git:log'], { parent })]
  const grandchild = await sessionWith('all', { parent: narrow })
  expect([await listed(same), await listed(narrow), await listed(grandchild)]).toEqual([
    ['files:read', 'git:log'],
    ['git:log'],
    ['git:log'],
  ])
  expect((await put(newId(), { parent: narrow, selection: ['files:read'] })).code).toBe('SELECTION_WIDER')
  expect((await firstMessage(same)).body['tools']).toMatchObject([
    { name: 'files:read' },
    { name: 'git:log' },
  ])
  await put(parent, { selection: ['files:read'] })
  expect([await listed(same), await listed(narrow), await listed(grandchild)]).toEqual([
    ['files:read'],
    [],
    [],
  ])
  for (const id of [same, narrow, grandchild]) expect((await call(id, 'git:log')).code).toBe('NOT_SELECTED')
  await ask('ann', `DELETE /sessions/${parent}`)
  for (const id of [same, narrow, grandchild]) {
    expect((await call(id, 'files:read')).code).toBe('SESSION_NOT_FOUND')
    expect((await ask('ann', `GET /tools/list?session=${id}`)).code).toBe('SESSION_NOT_FOUND')
  }
})

test('a new session with the id of a deleted parent gives its tools to no child of the old one', async () => {
  const parent = await sessionWith(['git:log'])
  const child = await sessionWith('all', { parent })
  const grandchild = await sessionWith('all', { parent: child })
  expect(await listed(grandchild)).toEqual(['git:log'])
  await ask('ann', `DELETE /sessions/${parent}`)
  await put(parent, { selection: 'all' })
  for (const id of [child, grandchild]) {
    expect((await ask('ann', `GET /sessions/${id}/tools`)).code).toBe('SESSION_NOT_FOUND')
    expect((await ask('ann', `POST /sessions/${id}/messages`, { body: {} })).code).toBe('SESSION_NOT_FOUND')
  }
  // Who makes the child anew has chosen the new parent.
  expect((await put(child, { parent, selection: ['git:log'] })).status).toBe(200)
  expect(await listed(child)).toEqual(['git:log'])
  expect(await listed(grandchild)).toEqual(['git:log'])
})

test('parents form neither a circle nor a chain of more than eight', async () => {
  const [one, two] = [newId(), newId()]
  expect((await put(one, { parent: one })).code).toBe('BODY_INVALID')
  expect((await put(one, { parent: 'no-such' })).code).toBe('SESSION_NOT_FOUND')
  await put(one, {})
  await put(two, { parent: one })
  expect((await put(one, { parent: two })).code).toBe('BODY_INVALID')
  let parent: string | undefined
  for (let depth = 1; depth <= 8; depth += 1) parent = await sessionWith('all', parent ? { parent } : {})
  expect(await listed(parent ?? '')).toEqual(NAMES)
  expect((await put(newId(), { parent })).code).toBe('BODY_INVALID')
})

test('a session ends 30 days after its last use, and its use is that of its parents', async () => {
  const parent = await sessionWith('all')
  const child = await sessionWith(['git:log'], { parent })
  const idle = await sessionWith('all')
  for (let used = 0; used < 4; used += 1) {
    nowMs += 20 * DAY_MS
    expect(await listed(child)).toEqual(['git:log'])
  }
  for (const request of [`GET /sessions/${idle}`, `GET /tools/list?session=${idle}`])
    expect((await ask('ann', request)).code).toBe('SESSION_NOT_FOUND')
  expect((await put(idle, { selection: 'none' })).body).toMatchObject({ outcome: 'created' })
  expect((await ask('ann', `GET /sessions/${parent}`)).status).toBe(200)
  nowMs = NOW
})

test('sessions are listed by id in pages, without their tools', async () => {
  const ids = ['page-a', 'page-b', 'page-c']
  for (const id of ids) await put(id, { selection: ['git:log'], model: 'm' }, 'account')
  const seen: string[] = []
  for (let query = '?limit=2'; query !== '';) {
    const { body, headers } = await ask('ann', `GET /sessions${query}`)
    seen.push(...(body['items'] as { id: string }[]).map(({ id }) => id))
    query = /<(\?[^>]*)>/.exec(headers.get('Link') ?? '')?.[1] ?? ''
  }
  expect(seen).toEqual(seen.toSorted())
  expect(seen.filter((id) => id.startsWith('page-'))).toEqual(ids)
  const { body } = await ask('ann', 'GET /sessions?cursor=page-b&limit=1')
  expect(body['items']).toEqual([
    expect.objectContaining({
      id: 'page-c',
      model: 'm',
      selection: 'chosen',
      tools: 1,
      usedAt: new Date(NOW).toISOString(),
    }),
  ])
  expect((await ask('bob', 'GET /sessions')).body).toEqual({ items: [] })
})

const BIG = 'x'.repeat(900_000)
const refused: readonly RefusedRow[] = [
  ['an id with a slash', 'ann', 'PUT /sessions/a%2Fb', { body: {} }, '400 PARAMETER_INVALID'],
  ['an id of dots', 'ann', 'PUT /sessions/%2E%2E', { body: {} }, '404 ROUTE_NOT_FOUND'],
  [
    'an id of 129 characters',
    'ann',
    `PUT /sessions/${'a'.repeat(129)}`,
    { body: {} },
    '400 PARAMETER_INVALID',
  ],
  ['an id of 1 MB for a fork', 'ann', 'POST /sessions/a/fork', { body: { id: BIG } }, '400 BODY_INVALID'],
  ['a parent of 1 MB', 'ann', 'PUT /sessions/a', { body: { parent: BIG } }, '400 BODY_INVALID'],
  [
    'a chosen name of 1 MB',
    'ann',
    'PUT /sessions/a',
    { body: { selection: [BIG] } },
    '422 SELECTION_INVALID',
  ],
  ['a session that is no id', 'ann', 'GET /tools/list?session=../x', {}, '400 PARAMETER_INVALID'],
  ['two sessions', 'ann', 'GET /tools/list?session=a&session=b', {}, '400 PARAMETER_INVALID'],
  ['an empty session', 'ann', 'GET /tools/list?session=', {}, '400 PARAMETER_INVALID'],
  [
    'a call with a session that is no id',
    'ann',
    'POST /tools/invoke?session=%20',
    { body: { name: 'git:log' } },
    '400 PARAMETER_INVALID',
  ],
  [
    'a session in the body of a call',
    'ann',
    'POST /tools/invoke',
    { body: { name: 'git:log', session: 'a' } },
    '400 BODY_INVALID',
  ],
  [
    'a selection that is a text',
    'ann',
    'PUT /sessions/a',
    { body: { selection: 'some' } },
    '400 BODY_INVALID',
  ],
  ['a selection of numbers', 'ann', 'PUT /sessions/a', { body: { selection: [1] } }, '400 BODY_INVALID'],
  [
    '5,001 names',
    'ann',
    'PUT /sessions/a',
    { body: { selection: Array.from({ length: 5_001 }, () => 'a') } },
    '400 BODY_INVALID',
  ],
  ['an agent with a blank', 'ann', 'PUT /sessions/a', { body: { agent: 'a b' } }, '400 BODY_INVALID'],
  ['an empty model', 'ann', 'PUT /sessions/a', { body: { model: '' } }, '400 BODY_INVALID'],
  ['an unknown field', 'ann', 'PUT /sessions/a', { body: { tools: [] } }, '400 BODY_INVALID'],
  ['the text of a message', 'ann', 'POST /sessions/a/messages', { body: { text: 'hi' } }, '400 BODY_INVALID'],
  ['a cursor that is no id', 'ann', 'GET /sessions?cursor=%2F', {}, '400 PARAMETER_INVALID'],
  ['no token', 'nobody', 'GET /sessions', {}, '401 TOKEN_INVALID'],
]
test.each(refused)('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code, body } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
  expect(JSON.stringify(body)).not.toContain('xxx')
})

test('an address with an id of 1 MB is refused, and the service goes on', async () => {
  const answer = await ask('ann', `GET /sessions/${BIG}`).catch(() => undefined)
  expect(answer?.status ?? 431).toBe(431)
  expect((await ask('ann', 'GET /sessions')).status).toBe(200)
})

test('an id begins with a letter or a digit, so that it is no relative path and no reserved name', () => {
  expect(['a', '0', 'a.b', 'a:b-c_d', '550e8400-e29b-41d4-a716-446655440000'].every(isSessionId)).toBe(true)
  expect(['', '.', '..', '__x__', '-a', 'a/b', 'a b', 'ä', 'a\n'].some(isSessionId)).toBe(false)
})
