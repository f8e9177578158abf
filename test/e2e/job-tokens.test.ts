import { afterAll, expect, test } from '@jest/globals'
import type { ListedTool } from '@toolrack/contract'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { serve } from '../../functions/src/hosts/local/serve.ts'
import { textLog } from '../../functions/src/log.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { failedStart, Server } from '../support/server.ts'
import { ecKey, jobKeysText } from '../support/signed-tokens.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const GOOD = { name: 'READ_FILE', digest: `sha256:${'0'.repeat(64)}` }

type Granted = { readonly name: string; readonly digest: string }
type Minted = { readonly token: string; readonly expiresAt: string; readonly tools: readonly Granted[] }
type Explained = { readonly hidden: { readonly reason: string } | null; readonly layers: readonly object[] }

function ask(
  body: unknown,
  family = 'workflows',
  authorization = `Bearer ${server.token}`,
): Promise<Response> {
  return server.fetch(`/${family}/jobs/tokens`, {
    method: 'POST',
    headers: { Authorization: authorization },
    body: JSON.stringify(body),
  })
}

async function granted(...names: readonly string[]): Promise<Granted[]> {
  return Promise.all(
    names.map(async (name) => {
      const answer = await server.fetch(`/workflows/tools/explain?name=${encodeURIComponent(name)}`)
      const { layers } = (await answer.json()) as { layers: readonly { role?: string; digest?: string }[] }
      const digest = layers.find(({ role }) => role === 'winner')?.digest
      if (digest === undefined) throw new Error(`the server has no ${name}`)
      return { name, digest }
    }),
  )
}

async function mint(...names: readonly string[]): Promise<Minted> {
  const answer = await ask({ workflowId: 'nightly', tools: await granted(...names) })
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'private, no-store'])
  return (await answer.json()) as Minted
}

/** A caller on the jobs family with a job token. */
function job(token: string, on = server) {
  return (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${token}`)
    return on.fetch(`/jobs${path}`, { ...init, headers })
  }
}

async function names(answer: Response): Promise<string[]> {
  return ((await answer.json()) as ListedTool[]).map((listed) => listed.function.name)
}

test('a job token for two tools lists exactly those two, and says when it ends', async () => {
  const { token, expiresAt, tools } = await mint('READ_FILE', 'RUN_COMMAND')
  const list = await job(token)('/tools/list')
  expect(list.headers.get('x-tools-layers')).toBe('user=0,global=0,file=2')
  expect(await names(list)).toEqual(['READ_FILE', 'RUN_COMMAND'])
  expect(tools).toEqual(await granted('READ_FILE', 'RUN_COMMAND'))
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    number
  >
  expect(claims).toMatchObject({ sub: 'wf:nightly', uid: 'local', tools })
  expect((claims['exp'] ?? 0) - (claims['iat'] ?? 0)).toBe(300)
  expect(new Date(expiresAt).getTime()).toBe((claims['exp'] ?? 0) * 1_000)
})

test('whatever it asks for, a job token sees nothing outside its grant', async () => {
  await put(server, 'mine:secret', tool('mine:secret'))
  const { token } = await mint('READ_FILE')
  const read = job(token)
  const list = await read('/tools/list?names=READ_FILE,RUN_COMMAND,mine:secret,mine__secret')
  expect(list.headers.get('x-tools-unknown')).toBe('RUN_COMMAND,mine:secret,mine__secret')
  expect(await names(list)).toEqual(['READ_FILE'])
  const tags = await read('/tools/list?category=cli&envelope=items&limit=1000')
  expect(((await tags.json()) as { items: unknown[] }).items).toHaveLength(1)
  for (const [layer, name] of [
    ['file', 'RUN_COMMAND'],
    ['user', 'mine:secret'],
  ] as const) {
    const answer = await read(`/tools/defs/${name}?layer=${layer}`)
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
  }
  const items = async (layer: string): Promise<string[]> => {
    const body = (await (await read(`/tools/defs?layer=${layer}`)).json()) as { items: { name: string }[] }
    return body.items.map(({ name }) => name)
  }
  expect([await items('user'), await items('global'), await items('file')]).toEqual([[], [], ['READ_FILE']])
  expect((await read('/tools/defs/READ_FILE?layer=file')).status).toBe(200)
})

test('a job token searches and loads only the tools of its grant, and needs a grant for the search too', async () => {
  const all = ['search_tools', 'load_tools', 'READ_FILE']
  const [some, none] = [await mint(...all), await mint('READ_FILE')]
  async function call(token: string, name: string, args: object): Promise<{ data?: unknown; code?: string }> {
    const body = JSON.stringify({ name, arguments: args })
    return (await job(token)('/tools/invoke', { method: 'POST', body })).json() as Promise<object>
  }
  const query = 'read, update or write a file, run a command, tell the time'
  const found = await call(some.token, 'search_tools', { query, limit: 20 })
  expect(found.data).toMatchObject({ tools: [{ name: 'READ_FILE' }] })
  const loaded = await call(some.token, 'load_tools', { names: ['READ_FILE', 'RUN_COMMAND'] })
  expect(loaded.data).toMatchObject({
    tools: [{ function: { name: 'READ_FILE' } }],
    unknown: [{ name: 'RUN_COMMAND' }],
  })
  expect(await names(await job(some.token)(`/tools/list?q=${encodeURIComponent(query)}`))).toEqual([
    'READ_FILE',
  ])
  expect(await names(await job(none.token)('/tools/list?with=search'))).toEqual(['READ_FILE'])
  expect((await call(none.token, 'search_tools', { query })).code).toBe('PERMISSION_DENIED')
})

test('explain tells a job nothing of a name outside its grant: byte for byte what it tells of a name nobody has', async () => {
  const { token } = await mint('READ_FILE')
  const explain = async (name: string): Promise<string> =>
    (await job(token)(`/tools/explain?name=${name}`)).text()
  expect(await explain('RUN_COMMAND')).toBe(
    (await explain('NOT_A_TOOL')).replaceAll('NOT_A_TOOL', 'RUN_COMMAND'),
  )
  expect(JSON.parse(await explain('RUN_COMMAND'))).toMatchObject({
    visible: false,
    hidden: { reason: 'NOT_GRANTED' },
    layers: [{ status: 'absent' }, { status: 'absent' }, { status: 'absent' }],
  })
})

test('a granted tool that changes is gone from the list at once, explain says why to the job, and all to its owner', async () => {
  await put(server, 'changing', tool('changing', 'Before.'))
  const { token } = await mint('changing', 'READ_FILE')
  const read = job(token)
  const before = await read('/tools/list')
  const etag = before.headers.get('etag') ?? ''
  expect(await names(before)).toEqual(['changing', 'READ_FILE'])
  expect((await read('/tools/list', { headers: { 'If-None-Match': etag } })).status).toBe(304)
  await put(server, 'changing', tool('changing', 'After.'))
  const after = await read('/tools/list', { headers: { 'If-None-Match': etag } })
  expect(after.status).toBe(200)
  expect(await names(after)).toEqual(['READ_FILE'])
  const toJob = (await (await read('/tools/explain?name=changing')).json()) as Explained
  expect(toJob).toMatchObject({
    hidden: { reason: 'DIGEST_CHANGED' },
    layers: [{ status: 'absent' }, {}, {}],
  })
  expect(JSON.stringify(toJob)).not.toContain('sha256:')
  const toOwner = (await (await server.fetch('/workflows/tools/explain?name=changing')).json()) as Explained
  expect(toOwner).toMatchObject({ hidden: null, layers: [{ status: 'found', role: 'winner' }, {}, {}] })
  await put(server, 'changing', tool('changing', 'Before.'))
  expect(await names(await read('/tools/list'))).toEqual(['changing', 'READ_FILE'])
  await remove(server, 'changing')
  expect(await names(await read('/tools/list'))).toEqual(['READ_FILE'])
})

test('two grants share neither entity tag nor ready list', async () => {
  const [one, other] = [await mint('READ_FILE'), await mint('RUN_COMMAND')]
  const [first, second] = [await job(one.token)('/tools/list'), await job(other.token)('/tools/list')]
  const etag = first.headers.get('etag') ?? ''
  expect(second.headers.get('etag')).not.toBe(etag)
  expect([await names(first), await names(second)]).toEqual([['READ_FILE'], ['RUN_COMMAND']])
  expect((await job(other.token)('/tools/list', { headers: { 'If-None-Match': etag } })).status).toBe(200)
  expect((await server.fetch('/jobs/tools/list', { headers: { 'If-None-Match': etag } })).status).toBe(200)
})

const WRITES: readonly [string, string, string | null, RegExp][] = [
  ['PUT', '/tools/defs/READ_FILE', '{"description":"Mine."}', /never writes/],
  ['PUT', '/tools/defs/READ_FILE?layer=global', '{"description":"Mine."}', /never writes/],
  ['POST', '/tools/defs', '[{"name":"a","description":"Mine."}]', /never writes/],
  ['DELETE', '/tools/defs/READ_FILE', null, /never writes/],
  ['POST', '/tools/defs/READ_FILE/rollback', '{"revision":"1"}', /never writes/],
  ['POST', '/jobs/tokens', '{"workflowId":"w","tools":[]}', /never mints/],
  ['GET', '/tools/defs/READ_FILE/versions', null, /older versions/],
]

test.each(WRITES)('a job token gets a 403 with its reason for %s %s', async (method, path, body, reason) => {
  const { token } = await mint('READ_FILE')
  expect(await errorAnswer(await job(token)(path, { method, body }))).toMatchObject({
    httpStatus: 403,
    reason: 'PERMISSION_DENIED',
    message: expect.stringMatching(reason),
  })
})

test('a job token is nobody on /workflows, and /health treats it as nobody', async () => {
  const { token } = await mint('READ_FILE')
  const headers = { Authorization: `Bearer ${token}` }
  expect(await errorAnswer(await server.fetch('/workflows/tools/list', { headers }))).toMatchObject({
    httpStatus: 401,
  })
  expect(Object.keys((await (await server.fetch('/health', { headers })).json()) as object)).toEqual([
    'status',
    'version',
    'isolation',
  ])
})

test('only a user mints: the local token on the jobs family may not', async () => {
  const body = { workflowId: 'w', tools: await granted('READ_FILE') }
  expect(await errorAnswer(await ask(body, 'jobs'))).toMatchObject({
    httpStatus: 403,
    message: 'Only a user may mint job tokens, not a job.',
  })
})

test('every tool that does not exist or has another digest is named, with its index and pointer', async () => {
  const [{ digest } = GOOD] = await granted('READ_FILE')
  const other = `sha256:${'0'.repeat(64)}`
  const tools = [
    { name: 'READ_FILE', digest },
    { name: 'NOT_A_TOOL', digest },
    { name: 'RUN_COMMAND', digest: other },
    { name: 'READ_FILE', digest },
  ]
  const answer = await errorAnswer(await ask({ workflowId: 'w', tools }))
  expect(answer).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
  expect(answer.details.map(({ reason, index, pointer }) => [reason, index, pointer])).toEqual([
    ['TOOL_NOT_FOUND', 1, '/tools/1/name'],
    ['DIGEST_CHANGED', 2, '/tools/2/digest'],
    ['BODY_INVALID', 3, '/tools/3/name'],
  ])
  expect(JSON.stringify(answer)).not.toContain('NOT_A_TOOL')
  const changed = await errorAnswer(await ask({ workflowId: 'w', tools: tools.slice(2, 3) }))
  expect(changed).toMatchObject({
    httpStatus: 409,
    reason: 'DIGEST_CHANGED',
    details: [{ index: 0, pointer: '/tools/0/digest' }],
  })
})

test('a tool is named by its alias too, and granted by its name', async () => {
  await put(server, 'weather:get', tool('weather:get'))
  const [{ digest } = GOOD] = await granted('weather:get')
  const answer = await ask({ workflowId: 'w', tools: [{ name: 'weather__get', digest }] })
  const { token, tools } = (await answer.json()) as Minted
  expect(tools).toEqual([{ name: 'weather:get', digest }])
  expect(await names(await job(token)('/tools/list?names=weather__get'))).toEqual(['weather:get'])
})

test.each<[string, unknown, string]>([
  ['no body', null, ''],
  ['a list', [], ''],
  ['an unknown key', { workflowId: 'w', tools: [GOOD], scope: '*' }, ''],
  ['no workflow', { tools: [GOOD] }, '/workflowId'],
  ['an empty workflow', { workflowId: '', tools: [GOOD] }, '/workflowId'],
  ['a workflow with a line feed', { workflowId: 'w\n', tools: [GOOD] }, '/workflowId'],
  ['a long workflow', { workflowId: 'w'.repeat(257), tools: [GOOD] }, '/workflowId'],
  ['no tools', { workflowId: 'w' }, '/tools'],
  ['an empty list', { workflowId: 'w', tools: [] }, '/tools'],
  ['65 tools', { workflowId: 'w', tools: Array.from({ length: 65 }, () => GOOD) }, '/tools'],
  ['a bare name', { workflowId: 'w', tools: ['READ_FILE'] }, '/tools/0'],
  ['no digest', { workflowId: 'w', tools: [GOOD, { name: 'READ_FILE' }] }, '/tools/1'],
  ['half a digest', { workflowId: 'w', tools: [{ ...GOOD, digest: 'sha256:00' }] }, '/tools/0'],
  ['more than name and digest', { workflowId: 'w', tools: [{ ...GOOD, layer: 'user' }] }, '/tools/0'],
  ['a ttl of 601 s', { workflowId: 'w', tools: [GOOD], ttl: 601 }, '/ttl'],
  ['a ttl of nothing', { workflowId: 'w', tools: [GOOD], ttl: 0 }, '/ttl'],
  ['a ttl below nothing', { workflowId: 'w', tools: [GOOD], ttl: -300 }, '/ttl'],
  ['half a second', { workflowId: 'w', tools: [GOOD], ttl: 0.5 }, '/ttl'],
  ['a ttl as text', { workflowId: 'w', tools: [GOOD], ttl: '300' }, '/ttl'],
  ['a ttl of null', { workflowId: 'w', tools: [GOOD], ttl: null }, '/ttl'],
])('%s is a 400 that says where', async (_what, body, pointer) => {
  const answer = await errorAnswer(await ask(body))
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
  expect(answer.details[0]?.['pointer'] ?? '').toBe(pointer)
})

test('a parameter is a 400, and so is a body that is no JSON', async () => {
  const answer = await server.fetch('/workflows/jobs/tokens?ttl=600', { method: 'POST', body: '{}' })
  expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_UNKNOWN' })
  const broken = await server.fetch('/workflows/jobs/tokens', { method: 'POST', body: '{' })
  expect(await errorAnswer(broken)).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
})

test('64 tools go into one token; with names as long as they may be they do not, and the answer says so', async () => {
  const short = Array.from({ length: 64 }, (_, index) => `T${index}`)
  const long = short.map((name) => name.padEnd(128, 'x'))
  for (const all of [short, long])
    await server.fetch('/workflows/tools/defs', {
      method: 'POST',
      body: JSON.stringify(all.map((name) => tool(name))),
    })
  const { token } = await mint(...short)
  expect(await names(await job(token)('/tools/list'))).toEqual(short.toSorted())
  const refused = await errorAnswer(await ask({ workflowId: 'w', tools: await granted(...long) }))
  expect(refused).toMatchObject({
    httpStatus: 400,
    reason: 'BODY_INVALID',
    message: expect.stringMatching(/name fewer/),
  })
})

test('a token of 1 MB or of 17 kB is refused before anything is done with it, and not repeated', async () => {
  const long = await server.fetch('/jobs/tools/list', {
    headers: { Authorization: `Bearer ${'x'.repeat(17_000)}` },
  })
  expect(await errorAnswer(long)).toMatchObject({ httpStatus: 401, reason: 'TOKEN_INVALID' })
  const huge = await server.fetch('/jobs/tools/list', {
    headers: { Authorization: `Bearer ${'x'.repeat(1_000_000)}` },
  })
  expect(await errorAnswer(huge)).toMatchObject({ httpStatus: 431, reason: 'HEADERS_TOO_LARGE' })
})

test('the key lies in the data folder for its owner only, outlives a restart, and can be rotated', async () => {
  await using own = await Server.start()
  const path = join(own.data, 'job-keys.json')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const list = (await (await own.fetch('/workflows/tools/explain?name=READ_FILE')).json()) as {
    layers: { digest?: string }[]
  }
  const tools = [{ name: 'READ_FILE', digest: list.layers[2]?.digest }]
  const mintOn = async (): Promise<string> => {
    const answer = await own.fetch('/workflows/jobs/tokens', {
      method: 'POST',
      body: JSON.stringify({ workflowId: 'w', tools }),
    })
    return ((await answer.json()) as Minted).token
  }
  const status = async (token: string): Promise<number> => (await job(token, own)('/tools/list')).status
  const restartWith = async (keys: string): Promise<void> => {
    await own.stop()
    writeFileSync(path, keys)
    await own.restart()
  }
  const old = await mintOn()
  const oldKeys = readFileSync(path, 'utf8')
  await restartWith(oldKeys)
  expect(await status(old)).toBe(200)
  const newKeys = jobKeysText(ecKey('new'))
  const both = { keys: [newKeys, oldKeys].flatMap((text) => (JSON.parse(text) as { keys: object[] }).keys) }
  await restartWith(JSON.stringify(both))
  const fresh = await mintOn()
  expect([await status(old), await status(fresh)]).toEqual([200, 200])
  await restartWith(newKeys)
  expect([await status(old), await status(fresh)]).toEqual([401, 200])
})

test.each([
  [
    'K_SERVICE with an emulator',
    { K_SERVICE: 'workflows', FIREBASE_AUTH_EMULATOR_HOST: 'localhost:9099' },
    /FIREBASE_AUTH_EMULATOR_HOST must not be set in production/,
  ],
  [
    'Firebase tokens without a project',
    { TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: '', GCLOUD_PROJECT: '' },
    /GOOGLE_CLOUD_PROJECT must be set/,
  ],
  [
    'job keys that are none',
    { TOOLRACK_JOB_KEYS: '{"keys":[]}' },
    /TOOLRACK_JOB_KEYS must be a JSON Web Key Set/,
  ],
])('%s: the server says so and does not start', async (_what, env, message) => {
  using folder = temporaryFolder()
  const ended = await failedStart({ data: folder.path, env })
  expect(ended.code).toBe(78)
  expect(ended.stderr).toMatch(message)
})

test('with Firebase tokens the local token is nobody', async () => {
  using folder = temporaryFolder()
  const env = { TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: 'demo-toolrack' }
  await using local = await Server.start({ data: folder.path })
  const { token } = local
  await local.stop()
  const config = parseConfig({ ...env, PORT: '0', TOOLRACK_DATA: folder.path })
  const { url, token: none, stop } = await serve(config, textLog({ write: () => undefined }))
  expect(none).toBeUndefined()
  const answer = await fetch(`${url}/workflows/tools/list`, { headers: { Authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(401)
  await stop()
})
