import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AGENT_TOOLS_MAX, AGENTS_PER_USER } from '../../../../functions/src/features/agents/agent.ts'
import { BODY_BYTES_MAX } from '../../../../functions/src/http/body-kinds.ts'
import { FileAgents } from '../../../../functions/src/stores/files/file-agents.ts'
import { FAMILY_ROUTES } from '../../../support/route-table.ts'
import { inProcess } from '../../../support/in-process.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'
import { until } from '../../../support/until.ts'

const folder = temporaryFolder()
const file = (name: string, value: unknown): void =>
  writeFileSync(join(folder.path, name), typeof value === 'string' ? value : JSON.stringify(value))
file('a-teacher.json', {
  id: 'mr-brown',
  name: 'Mr Brown',
  description: 'Teaches.',
  workflowName: 'teachers-Teacher',
  source: 'file',
})
file('b-helper.json', {
  name: 'The Helper!',
  tools: ['READ_FILE'],
  inputSchema: { type: 'object' },
  userId: 'ann',
  version: 2,
})
file('c-twice.json', { name: 'the helper' })
file('d-broken.json', '{"name": ')
file('e-nameless.json', { description: 'No name.' })
file('g-reserved.json', { name: 'Default' })
file('h-list.json', [])
file('i-bad-id.json', { id: 'a/b', name: 'I' })
file('j-bad-tool.json', { name: 'J', tools: ['READ FILE'] })
file('k-large.json', `{"name":"K"${' '.repeat(64 * 1024)}}`)
mkdirSync(join(folder.path, 'l-folder.json'))
file('no-json.txt', 'x')

const TEACHER = {
  id: 'mr-brown',
  name: 'Mr Brown',
  description: 'Teaches.',
  workflowName: 'teachers-Teacher',
  source: 'file',
}
const HELPER = {
  id: 'the-helper',
  name: 'The Helper!',
  description: null,
  workflowName: null,
  tools: ['READ_FILE'],
  inputSchema: { type: 'object' },
  source: 'file',
}

/** The time of the service, in milliseconds. */
let nowMs = NOW
const logged: string[] = []
const service = await inProcess(
  deployedAccess(() => NOW),
  [],
  () => nowMs,
  {
    agentFiles: new FileAgents(folder.path),
    corsOrigins: ['https://app.example'],
    log: {
      info: () => undefined,
      warn: (message, fields) => logged.push(`${message}  ${JSON.stringify(fields)}`),
      error: () => undefined,
    },
  },
)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const tokens = new Map<string, string>()
function tokenOf(uid: string): string {
  const token = tokens.get(uid) ?? signed(FIREBASE, { sub: uid })
  tokens.set(uid, token)
  return token
}

type Sent = { readonly body?: unknown; readonly project?: string; readonly token?: string }
type Answered = { readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers }

/** Sends `GET /agents` as a user. A text is sent unchanged, any other body as JSON. */
async function ask(uid: string, request: string, { body, project, token }: Sent = {}): Promise<Answered> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(service.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${token ?? tokenOf(uid)}`,
      ...(project !== undefined && { 'x-project-id': project }),
    },
    body: body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Answered['body'], headers: answer.headers }
}

/** The status, if the body is `{error: text}` and nothing else. */
function refusal({ status, body, headers }: Answered): number {
  expect(body).toEqual({ error: expect.stringMatching(/^[A-Z].+[.…]$/s) })
  expect(headers.get('cache-control')).toBe('private, no-store')
  return status
}

let users = 0
const newUser = (): string => `agents${(users += 1)}`

async function created(uid: string, fields: object): Promise<Record<string, unknown>> {
  const { status, body } = await ask(uid, 'POST /agents', { body: fields })
  expect(status).toBe(201)
  return body['agent'] as Record<string, unknown>
}

describe('one agent', () => {
  test('is created with an id from its name, and answered with all its fields', async () => {
    const uid = newUser()
    const fields = {
      name: '  Code Reviewer (strict) ',
      description: 'Reads code.',
      workflowName: ' codebase-jobs-Reviewer ',
      tools: ['READ_FILE', ' RUN_COMMAND ', 'READ_FILE', ''],
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    }
    const { status, body } = await ask(uid, 'POST /agents', { body: fields })
    expect(status).toBe(201)
    expect(body).toEqual({
      agent: {
        id: 'code-reviewer-strict',
        name: 'Code Reviewer (strict)',
        description: 'Reads code.',
        workflowName: 'codebase-jobs-Reviewer',
        created: nowMs,
        updated: nowMs,
        tools: ['READ_FILE', 'RUN_COMMAND'],
        inputSchema: fields.inputSchema,
      },
    })
    expect((await ask(uid, 'GET /agents/code-reviewer-strict')).body).toEqual(body)
  })

  test('without more than a name has null, and no tools and no schema', async () => {
    const agent = await created(newUser(), {
      name: 'Plain',
      description: null,
      workflowName: null,
      tools: [],
    })
    const time = expect.any(Number)
    const plain = {
      id: 'plain',
      name: 'Plain',
      description: null,
      workflowName: null,
      created: time,
      updated: time,
    }
    expect(agent).toEqual(plain)
    expect(Object.keys(agent)).toEqual(Object.keys(plain))
  })

  test('whose name has no ASCII letter gets an id of its own', async () => {
    const uid = newUser()
    const ids = [await created(uid, { name: '助手' }), await created(uid, { name: '助手' })].map(
      ({ id }) => id,
    )
    expect(new Set(ids).size).toBe(2)
    expect((await ask(uid, `GET /agents/${String(ids[0])}`)).body).toMatchObject({ agent: { name: '助手' } })
  })

  test('is changed only in the fields that are sent, and null counts as not sent', async () => {
    const uid = newUser()
    const before = await created(uid, {
      name: 'A',
      description: 'One.',
      tools: ['X'],
      inputSchema: { type: 'object', title: 'Old' },
    })
    const patch = async (body: object) => (await ask(uid, 'PATCH /agents/a', { body })).body['agent']
    const changed = await patch({ name: 'B', description: null })
    expect(changed).toEqual({ ...before, name: 'B', updated: expect.any(Number) })
    const inputSchema = { type: 'object', properties: {} }
    expect(await patch({ ...before, name: 'C', workflowName: 'w', inputSchema, tools: ['Y'] })).toEqual({
      ...before,
      name: 'C',
      workflowName: 'w',
      inputSchema,
      tools: ['Y'],
      updated: expect.any(Number),
    })
  })

  test('is deleted, and then there is none', async () => {
    const uid = newUser()
    await created(uid, { name: 'A' })
    expect(await ask(uid, 'DELETE /agents/a')).toMatchObject({ status: 200, body: { ok: true } })
    expect(refusal(await ask(uid, 'GET /agents/a'))).toBe(404)
    expect(refusal(await ask(uid, 'DELETE /agents/a'))).toBe(404)
    await created(uid, { name: 'A' })
  })
})

describe('the list', () => {
  test('has the stored agents, the newest first, and then those in files whose id is free', async () => {
    const uid = newUser()
    for (const name of ['one', 'two', 'three']) {
      await created(uid, { name })
      nowMs += 1
    }
    const ids = async (query = '') =>
      ((await ask(uid, `GET /agents${query}`)).body['agents'] as { id: string }[]).map(({ id }) => id)
    const files = ['mr-brown', 'the-helper']
    expect(await ids()).toEqual(['three', 'two', 'one', ...files])
    expect(await ids('?limit=50&order=desc')).toEqual(['three', 'two', 'one', ...files])
    expect(await ids('?order=asc')).toEqual(['one', 'two', 'three', ...files])
    expect(await ids('?limit=1')).toEqual(['three', ...files])
    expect((await ask(newUser(), 'GET /agents')).body).toEqual({ agents: [TEACHER, HELPER] })
  })

  test.each(['limit=0', 'limit=-1', 'limit=1.5', `limit=${AGENTS_PER_USER + 1}`, 'order=up'])(
    'with %s is refused',
    async (query) => {
      expect(refusal(await ask('ann', `GET /agents?${query}`))).toBe(400)
    },
  )
})

describe('the tools of an agent', () => {
  test('are added without doubles and removed, as one name or several', async () => {
    const uid = newUser()
    const before = await created(uid, { name: 'A' })
    const tools = async (request: string, sent?: unknown) =>
      (await ask(uid, request, sent === undefined ? {} : { body: { tools: sent } })).body['tools']
    expect(await tools('GET /agents/a/tools')).toEqual([])
    expect(await tools('POST /agents/a/tools', 'READ_FILE')).toEqual(['READ_FILE'])
    expect(await tools('POST /agents/a/tools', ['weather:get', 'READ_FILE', ' '])).toEqual([
      'READ_FILE',
      'weather:get',
    ])
    expect(await tools('POST /agents/a/tools', 'READ_FILE')).toEqual(['READ_FILE', 'weather:get'])
    expect(await tools('GET /agents/a/tools')).toEqual(['READ_FILE', 'weather:get'])
    expect(await tools('DELETE /agents/a/tools', ['READ_FILE', 'OTHER'])).toEqual(['weather:get'])
    expect(await tools('DELETE /agents/a/tools', 'weather:get')).toEqual([])
    const { agent } = (await ask(uid, 'GET /agents/a')).body as { agent: { updated: number } }
    expect(agent).toEqual({ ...before, tools: [], updated: expect.any(Number) })
    expect(agent.updated).toBeGreaterThanOrEqual(Number(before['updated']))
  })

  test('of an agent in a file and of default are read', async () => {
    expect((await ask('ann', 'GET /agents/the-helper/tools')).body).toEqual({ tools: ['READ_FILE'] })
    expect((await ask('ann', 'GET /agents/mr-brown/tools')).body).toEqual({ tools: [] })
    expect((await ask('ann', 'GET /agents/default/tools')).body).toEqual({ tools: [] })
    expect((await ask('ann', 'GET /agents/default')).body).toMatchObject({ agent: { id: 'default' } })
  })

  test('that two requests add at once are all there', async () => {
    const uid = newUser()
    await created(uid, { name: 'A' })
    const names = Array.from({ length: 10 }, (_, index) => `TOOL_${index}`)
    await Promise.all(names.map((tools) => ask(uid, 'POST /agents/a/tools', { body: { tools } })))
    const { tools } = (await ask(uid, 'GET /agents/a/tools')).body
    expect((tools as string[]).toSorted()).toEqual(names)
  })

  test(`are at most ${AGENT_TOOLS_MAX}`, async () => {
    const uid = newUser()
    const names = Array.from({ length: AGENT_TOOLS_MAX }, (_, index) => `TOOL_${index}`)
    await created(uid, { name: 'A', tools: names })
    expect(refusal(await ask(uid, 'POST /agents/a/tools', { body: { tools: 'ONE_MORE' } }))).toBe(409)
    expect((await ask(uid, 'POST /agents/a/tools', { body: { tools: 'TOOL_1' } })).status).toBe(200)
    expect(
      refusal(await ask(uid, 'POST /agents', { body: { name: 'B', tools: [...names, 'ONE_MORE'] } })),
    ).toBe(400)
  })
})

describe('a session', () => {
  test('is linked to one agent for each project, and linked anew', async () => {
    const uid = newUser()
    await created(uid, { name: 'A', tools: ['X'] })
    const at = '/agents/session/session-1'
    const linked = { sessionId: 'session-1', agentId: 'a' }
    const put = (agentId: string, project?: string) =>
      ask(uid, `PUT ${at}`, { body: { agentId }, ...(project !== undefined && { project }) })
    expect(await put(' a ', 'p1')).toMatchObject({ status: 200, body: linked })
    expect((await ask(uid, `GET ${at}`, { project: 'p1' })).body).toEqual(linked)
    expect((await ask(uid, `GET ${at}/tools`, { project: 'p1' })).body).toEqual({ tools: ['X'] })
    for (const project of ['p2', undefined])
      for (const path of [at, `${at}/tools`])
        expect(refusal(await ask(uid, `GET ${path}`, project === undefined ? {} : { project }))).toBe(404)
    expect((await put('the-helper', 'p1')).body).toEqual({ ...linked, agentId: 'the-helper' })
    expect((await put('default')).body).toEqual({ ...linked, agentId: 'default' })
    expect((await ask(uid, `GET ${at}/tools`)).body).toEqual({ tools: [] })
    expect((await ask(uid, `GET ${at}/tools`, { project: 'p1' })).body).toEqual({ tools: ['READ_FILE'] })
    expect((await ask(uid, `DELETE ${at}`, { project: 'p1' })).body).toEqual({ ok: true })
    expect(refusal(await ask(uid, `GET ${at}`, { project: 'p1' }))).toBe(404)
    expect(refusal(await ask(uid, `DELETE ${at}`, { project: 'p1' }))).toBe(404)
    expect((await ask(uid, `GET ${at}`)).body).toEqual({ ...linked, agentId: 'default' })
  })

  test('with the id tools is a session', async () => {
    const uid = newUser()
    await ask(uid, 'PUT /agents/session/tools', { body: { agentId: 'default' } })
    expect((await ask(uid, 'GET /agents/session/tools')).body).toEqual({
      sessionId: 'tools',
      agentId: 'default',
    })
  })

  test('whose agent is deleted has no tools to answer', async () => {
    const uid = newUser()
    await created(uid, { name: 'A' })
    await ask(uid, 'PUT /agents/session/s', { body: { agentId: 'a' } })
    await ask(uid, 'DELETE /agents/a')
    expect(refusal(await ask(uid, 'GET /agents/session/s/tools'))).toBe(404)
    expect((await ask(uid, 'GET /agents/session/s')).body).toEqual({ sessionId: 's', agentId: 'a' })
  })

  test.each(['a%2Fb', '__x__', '%00', 'x'.repeat(201)])('with the id %s is refused', async (id) => {
    expect(refusal(await ask('ann', `GET /agents/session/${id}/tools`))).toBe(400)
  })

  test('of a project with a bad id is refused', async () => {
    expect(refusal(await ask('ann', 'GET /agents/session/s', { project: 'a/b' }))).toBe(400)
  })
})

describe('refusals', () => {
  const uid = newUser()
  beforeAll(async () => {
    await created(uid, { name: 'Taken' })
  })

  test('unknown fields and parameters are ignored, and a userId is never the user', async () => {
    const sent = { name: 'Lenient', userId: 'somebody', tool: 'X', created: 5 }
    const { status, body } = await ask(uid, 'POST /agents?userId=somebody', { body: sent })
    expect([status, body]).toEqual([
      201,
      {
        agent: {
          description: null,
          workflowName: null,
          id: 'lenient',
          name: 'Lenient',
          created: expect.any(Number),
          updated: expect.any(Number),
        },
      },
    ])
    expect((await ask('somebody', 'GET /agents/lenient')).status).toBe(404)
    expect(
      (await ask(uid, 'PATCH /agents/lenient', { body: { userId: 'somebody', description: 'D' } })).body,
    ).toMatchObject({
      agent: { name: 'Lenient', description: 'D' },
    })
    const link = { agentId: 'lenient', userId: 'somebody' }
    expect((await ask(uid, 'PUT /agents/session/of-lenient', { body: link })).status).toBe(200)
    const tools = { tools: ['A'], userId: 'somebody' }
    expect((await ask(uid, 'POST /agents/lenient/tools', { body: tools })).body).toEqual({ tools: ['A'] })
    expect((await ask(uid, 'GET /agents?limit=1&userId=somebody')).status).toBe(200)
    expect((await ask(uid, 'GET /agents?limit=none')).status).toBe(400)
  })

  test.each([
    ['no body', undefined, 400],
    ['no JSON', '{', 400],
    ['a list', [], 400],
    ['no name', { description: 'x' }, 400],
    ['a name that is null', { name: null }, 400],
    ['a blank name', { name: '  ' }, 400],
    ['a name that is no text', { name: 7 }, 400],
    ['a long name', { name: 'x'.repeat(201) }, 400],
    ['half a character', '{"name":"\\ud800"}', 400],
    ['a description that is no text', { name: 'A', description: {} }, 400],
    ['a long description', { name: 'A', description: 'x'.repeat(4_001) }, 400],
    ['a long workflow', { name: 'A', workflowName: 'x'.repeat(257) }, 400],
    ['a tool that is no text', { name: 'A', tools: [1] }, 400],
    ['a tool that cannot be a name', { name: 'A', tools: ['READ FILE'] }, 400],
    ['a schema that is no object', { name: 'A', inputSchema: [] }, 400],
    ['a large schema', { name: 'A', inputSchema: { a: 'x'.repeat(33_000) } }, 400],
    ['a list in a list in a schema', { name: 'A', inputSchema: { enum: [[1]] } }, 400],
    ['a key that the store reserves', { name: 'A', inputSchema: { properties: { __a__: {} } } }, 400],
    ['a deep schema', `{"name":"A","inputSchema":${'{"a":'.repeat(20)}1${'}'.repeat(20)}}`, 400],
    ['a name that is taken', { name: 'taken!' }, 409],
    ['a name that a file has taken', { name: 'Mr. Brown' }, 409],
    ['a reserved id', { name: 'Session' }, 409],
    ['a large body', 'x'.repeat(BODY_BYTES_MAX.single + 1), 413],
  ])('a new agent with %s is refused', async (_what, body, status) => {
    expect(refusal(await ask(uid, 'POST /agents', body === undefined ? {} : { body }))).toBe(status)
  })

  test.each([
    ['PATCH /agents/taken', { name: '' }, 400],
    ['PATCH /agents/nobody', { name: 'A' }, 404],
    ['PATCH /agents/mr-brown', { name: 'A' }, 409],
    ['PATCH /agents/default', { name: 'A' }, 409],
    ['DELETE /agents/mr-brown', undefined, 409],
    ['DELETE /agents/default', undefined, 409],
    ['DELETE /agents/nobody', undefined, 404],
    ['GET /agents/session', undefined, 404],
    ['GET /agents/tools', undefined, 404],
    ['GET /agents/a%2Fb', undefined, 404],
    ['POST /agents/taken/tools', undefined, 400],
    ['POST /agents/taken/tools', {}, 400],
    ['POST /agents/taken/tools', { tools: [] }, 400],
    ['POST /agents/taken/tools', { tools: ' ' }, 400],
    ['POST /agents/taken/tools', { tools: [null] }, 400],
    ['POST /agents/mr-brown/tools', { tools: 'A' }, 409],
    ['POST /agents/nobody/tools', { tools: 'A' }, 404],
    ['DELETE /agents/taken/tools', { tools: [] }, 400],
    ['DELETE /agents/the-helper/tools', { tools: 'READ_FILE' }, 409],
    ['DELETE /agents/nobody/tools', { tools: 'A' }, 404],
    ['GET /agents/nobody/tools', undefined, 404],
    ['PUT /agents/session/s', {}, 400],
    ['PUT /agents/session/s', { agentId: ' ' }, 400],
    ['PUT /agents/session/s', { agentId: 7 }, 400],
    ['PUT /agents/session/s', { agentId: 'nobody' }, 404],
    ['PUT /agents/session/s', { agentId: '../ann' }, 404],
    ['GET /agents/a/b/c/d', undefined, 404],
    ['GET /agents/%zz', undefined, 400],
    ['GET /AGENTS/Nobody/', undefined, 404],
  ])('%s with %j is a %i', async (request, body, status) => {
    const sent = body === undefined ? {} : { body }
    for (const family of ['', '/workflows'])
      expect(refusal(await ask(uid, request.replace(' ', ` ${family}`), sent))).toBe(status)
  })

  test('every route refuses a missing token with the form of errors of its clients, at each address', async () => {
    const routes = FAMILY_ROUTES.filter(({ isOriginal }) => isOriginal)
    expect(routes).toHaveLength(12)
    for (const { method, addresses } of routes) {
      expect(addresses.map(({ address }) => address.replace(/\/agents.*/, ''))).toEqual([
        '/workflows',
        '/jobs',
        '',
      ])
      for (const { address } of addresses) {
        const answer = await ask('', `${method} ${address}`, { token: 'wrong' })
        expect(refusal(answer)).toBe(401)
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
      }
    }
  })

  test('a method that an address does not know is a 405 that names the others', async () => {
    const answer = await ask(uid, 'PUT /agents/taken')
    expect(refusal(answer)).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, PATCH, DELETE')
    expect(refusal(await ask(uid, 'PATCH /workflows/agents'))).toBe(405)
  })

  test('beside these paths, errors keep their form', async () => {
    for (const path of ['/agent', '/agentsx', '/workflows/agentsx', '/jobs/tools/agents']) {
      const { body } = await ask(uid, `GET ${path}`)
      expect(body).toMatchObject({ error: { code: 404, details: [{ reason: 'ROUTE_NOT_FOUND' }] } })
    }
  })

  test(`a user has at most ${AGENTS_PER_USER} agents`, async () => {
    const many = newUser()
    for (let count = 0; count < AGENTS_PER_USER; count += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => created(many, { name: `n${count + index}` })),
      )
    expect(refusal(await ask(many, 'POST /agents', { body: { name: 'one more' } }))).toBe(409)
    await ask(many, 'DELETE /agents/n0')
    await created(many, { name: 'one more' })
    const { agents } = (await ask(many, `GET /agents?limit=${AGENTS_PER_USER}`)).body as { agents: object[] }
    expect(agents).toHaveLength(AGENTS_PER_USER + 2)
  })
})

describe('files', () => {
  const FAULTS = [
    ['c-twice.json', /same id/],
    ['d-broken.json', /not valid JSON/],
    ['e-nameless.json', /no name/],
    ['g-reserved.json', /reserved/],
    ['h-list.json', /not an object/],
    ['i-bad-id.json', /the id/],
    ['j-bad-tool.json', /not allowed/],
    ['k-large.json', /the file of an agent may have 65536$/],
    ['l-folder.json', /cannot be read/],
  ] as const

  test('that are broken are skipped, and named in the log and the health', async () => {
    const { body } = await ask('ann', 'GET /health')
    expect(body['agents']).toEqual({
      inFiles: 2,
      skipped: FAULTS.map(([source, message]) => ({
        source,
        pointer: expect.any(String),
        message: expect.stringMatching(message),
      })),
    })
    for (const [source] of FAULTS) expect(logged.join('\n')).toContain(`agent skipped  {"at":"${source}`)
  })

  test('are hidden by a stored agent with the same id, which comes back to its file when it is deleted', async () => {
    const uid = newUser()
    // A file that comes later may have the id of a stored agent.
    await created(uid, { name: 'Late' })
    file('z-late.json', { name: 'Late', tools: ['X'] })
    const found = async (who: string) =>
      (await ask(who, 'GET /agents/late')).body as { agent?: { source?: string } }
    await until(
      () => found('nobody'),
      ({ agent }) => agent !== undefined,
    )
    expect((await found(uid)).agent).not.toHaveProperty('source')
    const { agents } = (await ask(uid, 'GET /agents?limit=1')).body as { agents: { id: string }[] }
    expect(agents.filter(({ id }) => id === 'late')).toHaveLength(1)
    await ask(uid, 'DELETE /agents/late')
    expect((await found(uid)).agent).toMatchObject({ source: 'file', tools: ['X'] })
  })
})

test('a page of a listed origin may send PATCH and x-project-id', async () => {
  const headers = {
    Origin: 'https://app.example',
    'Access-Control-Request-Method': 'PATCH',
    'Access-Control-Request-Headers': 'x-project-id',
  }
  const answer = await fetch(`${service.url}/agents/a`, { method: 'OPTIONS', headers })
  expect(answer.status).toBe(204)
  expect(answer.headers.get('access-control-allow-methods')?.split(',')).toContain('PATCH')
  expect(answer.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('x-project-id')
})
