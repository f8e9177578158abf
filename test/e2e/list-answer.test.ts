import type { JsonObject } from '@toolrack/contract'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Server } from '../support/server.ts'
import { list, listedNames, post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start({ env: { TOOLRACK_DEFAULT_WORKFLOW: 'flows-Default' } })
afterAll(() => server[Symbol.asyncDispose]())

const workflow = { runner: { kind: 'workflow', workflowName: 'flows-Own' } }
beforeAll(async () => {
  const user = [
    tool('b_user', 'U.', { tags: ['red', 'round'], category: 'shapes' }),
    tool('A_user', 'U.', workflow),
  ]
  const global = [tool('b_global', 'G.', { tags: ['round'] }), tool('_global', 'G.', { category: 'shapes' })]
  expect((await post(server, user)).status).toBe(200)
  expect((await post(server, [...global, tool('A_user', 'Shadowed.')], 'layer=global')).status).toBe(200)
})

const get = (query = '', headers: Record<string, string> = {}): Promise<Response> =>
  server.fetch(`/workflows/tools/list${query}`, { headers })

test('the order is layer, then name by code unit, and a shadowed definition is not listed twice', async () => {
  const names = await listedNames(server)
  expect(names.slice(0, 4)).toEqual(['A_user', 'b_user', '_global', 'b_global'])
  const files = names.slice(4)
  expect(files.length).toBeGreaterThan(5)
  expect(files).toEqual(files.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(new Set(names).size).toBe(names.length)
})

test('the body is a bare array of function tools with nothing else beside them', async () => {
  const answer = await get('?names=b_user')
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await answer.text()).toBe(
    '[{"type":"function","function":{"name":"b_user","description":"U.","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}]',
  )
})

test('the items envelope puts a workflowName on each item: its own, else the default', async () => {
  const body = (await (await get('?envelope=items&names=A_user,b_user')).json()) as { items: JsonObject[] }
  expect(Object.keys(body)).toEqual(['items'])
  expect(body.items.map((item) => item['workflowName'])).toEqual(['flows-Own', 'flows-Default'])
  const bare = await list(server, 'names=A_user,b_user')
  expect(body.items.map(({ type, function: fn }) => ({ type, function: fn }))).toEqual(bare)
  expect(Object.keys(body.items[0] ?? {})).toEqual(['type', 'function', 'workflowName'])
  expect(await (await get('?envelope=items&names=[]')).text()).toBe('{"items":[]}')
})

test('LIST_ENVELOPE=items is the default of a server and envelope=array undoes it', async () => {
  await using items = await Server.start({
    env: { LIST_ENVELOPE: 'items', TOOLRACK_INVOKE_WORKFLOW: 'tools-Service' },
  })
  const shapes = await Promise.all(
    ['', '?envelope=array', '?envelope=items'].map(async (query) =>
      Array.isArray(await (await items.fetch(`/jobs/tools/list${query}`)).json()),
    ),
  )
  expect(shapes).toEqual([false, true, false])
  const body = (await (await items.fetch('/jobs/tools/list?names=ECHO,READ_FILE')).json()) as {
    items: JsonObject[]
  }
  expect(body.items.map((item) => item['workflowName'])).toEqual(['tools-Service', 'tools-CliTools'])
})

test('without a workflow that calls the service, items leave out its own tools and name them', async () => {
  const answer = await get('?envelope=items&names=ECHO,b_user')
  expect(answer.headers.get('x-tools-omitted')).toBe('ECHO')
  expect(((await answer.json()) as { items: unknown[] }).items).toHaveLength(1)
})

test.each([
  ['tags=round', ['b_user', 'b_global']],
  ['tags=red', ['b_user']],
  ['tags=red,nothing', ['b_user']],
  ['tags=red&tags=round', ['b_user', 'b_global']],
  ['tags[]=red', ['b_user']],
  ['tags=Red', []],
  ['category=shapes', ['b_user', '_global']],
  ['category=shapes&tags=round', ['b_user']],
  ['category=shapes&names=_global,b_global', ['_global']],
  ['category=nothing', []],
  ['category=tasks', ['CREATE_TASK', 'UPDATE_TASK']],
])('?%s narrows the list to what has it', async (query, names) => {
  expect(await listedNames(server, query)).toEqual(names)
})

test('blank tags and a blank category filter nothing', async () => {
  expect(await listedNames(server, 'tags=,&category=')).toEqual(await listedNames(server))
})

test('X-Tools-Layers counts each layer before merge and filter', async () => {
  const answer = await get('?names=[]')
  const layers = await Promise.all(
    ['user', 'global', 'file'].map(async (layer) => {
      const body = (await (await server.fetch(`/workflows/tools/defs?layer=${layer}`)).json()) as {
        items: unknown[]
      }
      return `${layer}=${body.items.length}`
    }),
  )
  expect(layers.slice(0, 2)).toEqual(['user=2', 'global=3'])
  expect(answer.headers.get('x-tools-layers')).toBe(layers.join())
})

test('an entity tag that the reader has gives 304 with no body and the same headers', async () => {
  const full = await get()
  const etag = full.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w-]+"$/)
  expect(full.headers.get('cache-control')).toBe('private, no-cache')
  for (const sent of [etag, `W/${etag}`, '*', `"other", ${etag}`, `"other",W/${etag}`, ` ${etag} `]) {
    const answer = await get('', { 'If-None-Match': sent })
    expect([sent, answer.status, await answer.text()]).toEqual([sent, 304, ''])
    for (const name of ['etag', 'cache-control', 'x-tools-revision', 'x-tools-layers'])
      expect(answer.headers.get(name)).toBe(full.headers.get(name))
  }
})

test.each(['"other"', 'other', 'W/', '"', '""', '"a" "b"', 'nonsense, *'])(
  'If-None-Match: %s is not what the list has, so all of it comes',
  async (sent) => {
    const answer = await get('?names=b_user', { 'If-None-Match': sent })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toHaveLength(1)
  },
)

test('two queries never share an entity tag', async () => {
  const queries = [
    '',
    '?names=b_user',
    '?names=A_user',
    '?envelope=items',
    '?tags=red',
    '?limit=1',
    '?strict=1',
  ]
  const tags = await Promise.all(queries.map(async (query) => (await get(query)).headers.get('etag')))
  expect(new Set(tags).size).toBe(queries.length)
})

async function state() {
  const { headers } = await get()
  return { revision: headers.get('x-tools-revision'), etag: headers.get('etag') }
}

test('revision and entity tag change with every change of the catalog and with nothing else', async () => {
  const states = [await state()]
  const changes: readonly [string, () => Promise<Response>][] = [
    ['create', () => put(server, 'changing', tool('changing'))],
    ['update', () => put(server, 'changing', tool('changing', 'Other.'))],
    ['tags only', () => put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))],
    ['delete', () => remove(server, 'changing')],
    ['create again', () => put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))],
  ]
  for (const [, change] of changes) {
    expect((await change()).ok).toBe(true)
    states.push(await state())
  }
  expect(new Set(states.map(({ revision }) => revision)).size).toBe(changes.length + 1)
  expect(new Set(states.map(({ etag }) => etag)).size).toBe(changes.length + 1)

  expect((await put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))).status).toBe(200)
  expect((await put(server, 'changing', { parameters: { required: 'x' } })).status).toBe(422)
  expect((await post(server, [tool('changing', 'Skipped.')], 'onConflict=skip')).status).toBe(200)
  expect((await remove(server, 'never_was')).status).toBe(404)
  expect(await state()).toEqual(states.at(-1))
})

async function snapshot(query: string): Promise<unknown> {
  const answer = await get(query)
  return [answer.headers.get('etag'), answer.headers.get('x-tools-revision'), await answer.text()]
}

test('the same catalog gives the same bytes and entity tag, also after a restart', async () => {
  const queries = ['', '?envelope=items', '?names=b_user,READ_FILE,lost', '?limit=2']
  const before = await Promise.all(queries.map(snapshot))
  expect(await Promise.all(queries.map(snapshot))).toEqual(before)
  await server.stop()
  await server.restart()
  expect(await Promise.all(queries.map(snapshot))).toEqual(before)
})

test('strict=1 changes nothing while every layer can be read', async () => {
  expect(await (await get('?strict=1')).text()).toBe(await (await get('?strict=0')).text())
})
