import { afterAll, expect, test } from '@jest/globals'
import type { ListedTool } from '@toolrack/contract'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAMILIES } from '../../functions/src/http/route.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { ecKey, jobKeysText } from '../support/signed-tokens.ts'
import { listedNames, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const { token: local } = server
const REFUSED: readonly [string, string | undefined][] = [
  ['no token', undefined],
  ['an empty header', ''],
  ['a scheme without a token', 'Bearer'],
  ['a blank token', 'Bearer  '],
  ['another scheme', `Basic ${local}`],
  ['the bare token', local],
  ['a wrong token', `Bearer ${local.slice(0, -1)}${local.endsWith('A') ? 'B' : 'A'}`],
  ['a part of the token', `Bearer ${local.slice(0, 20)}`],
  ['the token and more', `Bearer ${local}A`],
  ['two tokens', `Bearer ${local} ${local}`],
  ['a token with a mark in it', 'Bearer <script>"\\'],
  ['a token of 8 kB', `Bearer ${'x'.repeat(8_192)}`],
  ['a token of 17 kB', `Bearer ${'x'.repeat(17_000)}`],
]

async function listedAs(authorization: string | undefined) {
  const headers = authorization === undefined ? {} : { Authorization: authorization }
  const answer = await fetch(`${server.url}/workflows/tools/list`, { headers })
  const told = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'))
  return { status: answer.status, headers: told, body: await answer.text() }
}

test('whatever is sent in place of the token gets the same 401, to the byte', async () => {
  const refused = await listedAs(undefined)
  expect(refused).toMatchObject({
    status: 401,
    body: '{"error":{"code":401,"status":"UNAUTHENTICATED","message":"A valid token is needed: send \\"Authorization: Bearer <token>\\". If you sent one, see that no proxy on the way removes the header.","details":[{"reason":"TOKEN_INVALID"}]}}\n',
    headers: { 'www-authenticate': 'Bearer realm="toolrack"', 'cache-control': 'private, no-store' },
  })
  for (const [what, authorization] of REFUSED)
    expect([what, await listedAs(authorization)]).toEqual([what, refused])
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

test('/health with the token tells the state of every layer', async () => {
  const body = (await (await server.fetch('/health')).json()) as { layers: object }
  expect(body.layers).toMatchObject({
    user: { status: 'fresh', skipped: [] },
    global: { status: 'fresh', skipped: [] },
    file: { status: 'fresh', skipped: [] },
  })
})

type Granted = { readonly name: string; readonly digest: string }
type Minted = { readonly token: string; readonly expiresAt: string; readonly tools: readonly Granted[] }
type Explained = { readonly hidden: { readonly reason: string } | null; readonly layers: readonly object[] }

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
  const answer = await server.fetch('/workflows/jobs/tokens', {
    method: 'POST',
    body: JSON.stringify({ workflowId: 'nightly', tools: await granted(...names) }),
  })
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'private, no-store'])
  return (await answer.json()) as Minted
}

/** A caller on the jobs family with a job token. */
function job(token: string) {
  return (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${token}`)
    return server.fetch(`/jobs${path}`, { ...init, headers })
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

test('the keys of job tokens lie in the data folder for its owner only, outlive a restart, and can be rotated', async () => {
  const path = join(server.data, 'job-keys.json')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const { token: old } = await mint('READ_FILE')
  await server.stop()
  const keys = [jobKeysText(ecKey('new')), readFileSync(path, 'utf8')]
  const both = keys.flatMap((text) => (JSON.parse(text) as { keys: object[] }).keys)
  writeFileSync(path, JSON.stringify({ keys: both }))
  await server.restart()
  const { token: fresh } = await mint('READ_FILE')
  const [header = ''] = fresh.split('.')
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ kid: 'new' })
  for (const token of [old, fresh]) expect((await job(token)('/tools/list')).status).toBe(200)
})
