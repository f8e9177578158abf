import { expect, test } from '@jest/globals'
import { definitionDigest, DIALECTS } from '@toolrack/contract'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'

const SHARED = tool('shared')
const OTHER = tool('other')
const ask = await routeService([SHARED, OTHER], {}, [{ name: 'shared', digest: definitionDigest(SHARED) }])
const BUILTIN = { ...tool('builtin'), runner: { kind: 'builtin', builtin: 'echo' } } as const
const without = await routeService([SHARED, BUILTIN])
const named = await routeService([SHARED, BUILTIN], {
  settings: { TOOLRACK_INVOKE_WORKFLOW: 'tools-Service', LIST_ENVELOPE: 'items' },
})
const lost = await routeService([], { files: () => ({ read: () => Promise.reject(new Error('lost')) }) })

test('a list has the definitions of all layers, its revision and its layers', async () => {
  await ask('ann', 'PUT /tools/defs/own', { body: { description: 'Ann has it.' } })
  const { status, body, headers } = await ask('ann', 'GET /tools/list')
  expect(status).toBe(200)
  expect(body).toMatchObject([
    { function: { name: 'own' } },
    { function: { name: 'other' } },
    { function: { name: 'shared' } },
  ])
  expect(headers.get('X-Tools-Revision')).not.toBeNull()
  expect(headers.get('X-Tools-Layers')).toContain('file')
  expect(headers.get('Cache-Control')).toBe('private, no-cache')
})

test('a list of names has those alone, and names the unknown ones in a header', async () => {
  const { status, body, headers } = await ask('bob', 'GET /tools/list?names=shared,NONE')
  expect(status).toBe(200)
  expect(body).toMatchObject([{ function: { name: 'shared' } }])
  expect(headers.get('X-Tools-Unknown')).toContain('NONE')
})

test('a reader who has the list already is answered 304 without a body', async () => {
  const { headers } = await ask('bob', 'GET /tools/list')
  const etag = headers.get('ETag') ?? ''
  const again = await ask('bob', 'GET /tools/list', { headers: { 'If-None-Match': etag } })
  expect(again).toMatchObject({ status: 304, body: {} })
  expect(again.headers.get('ETag')).toBe(etag)
})

test('a page of a list links to the next one, and the last page to none', async () => {
  const first = await ask('bob', 'GET /tools/list?limit=1')
  expect(first.body).toMatchObject([{ function: { name: 'other' } }])
  const [, next = ''] = /^<\/workflows(.*)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? []
  const second = await ask('bob', `GET ${next}`)
  expect(second.body).toMatchObject([{ function: { name: 'shared' } }])
  expect(second.headers.get('Link')).toBeNull()
})

test('items go around the list where they are asked for', async () => {
  const { status, body } = await ask('bob', 'GET /tools/list?envelope=items')
  expect(status).toBe(200)
  expect(body).toMatchObject({ items: expect.any(Array) })
})

test('items leave out what the service runs itself where no workflow is named for it, and say so', async () => {
  const path = 'GET /tools/list?envelope=items'
  const omitted = await without('bob', path)
  expect([omitted.body, omitted.headers.get('X-Tools-Omitted')]).toMatchObject([
    { items: [{ function: { name: 'shared' } }] },
    'builtin',
  ])
  const headers = { 'If-None-Match': omitted.headers.get('ETag') ?? '' }
  const again = await without('bob', path, { headers })
  expect([again.status, again.headers.get('X-Tools-Omitted')]).toEqual([304, 'builtin'])
  const strict = await without('bob', `${path}&dialect=openai-strict`)
  expect([strict.headers.get('X-Tools-Omitted'), strict.headers.get('X-Tools-Quarantined')]).toEqual([
    'builtin',
    null,
  ])
  const whole = await named('bob', path, { headers })
  expect([whole.status, whole.headers.get('X-Tools-Omitted')]).toEqual([200, null])
  expect(whole.body).toMatchObject({
    items: [{ workflowName: 'tools-Service' }, { function: { name: 'shared' } }],
  })
  expect(whole.headers.get('X-Tools-Revision')).toBe(omitted.headers.get('X-Tools-Revision'))
  expect((await without('bob', 'GET /tools/list')).headers.get('X-Tools-Omitted')).toBeNull()
})

const shapeOf = async (query: string) =>
  Array.isArray((await named('bob', `GET /tools/list${query}`)).body) ? 'array' : 'items'

test('a server has an envelope of its own, for lists that name none and no dialect', async () => {
  expect(await Promise.all(['', '?envelope=array', '?envelope=items'].map(shapeOf))).toEqual([
    'items',
    'array',
    'items',
  ])
  for (const dialect of DIALECTS) expect(await shapeOf(`?dialect=${dialect}`)).toBe('array')
})

test.each(['openai', 'openai-strict'])('items go around a list in the dialect %s', async (dialect) => {
  const { body } = await ask('bob', `GET /tools/list?dialect=${dialect}&envelope=items&names=shared`)
  expect(body).toEqual({
    items: [expect.objectContaining({ type: 'function', workflowName: 'tools-CliTools' })],
  })
})

test('a dialect writes the list as its vendor takes it', async () => {
  const { status, body } = await ask('bob', 'GET /tools/list?dialect=anthropic&names=shared')
  expect(status).toBe(200)
  expect(body).toMatchObject([{ name: 'shared', input_schema: { type: 'object' } }])
})

test('a job token lists the tools that it names', async () => {
  const { status, body } = await ask('token', 'GET /tools/list')
  expect(status).toBe(200)
  expect(body).toMatchObject([{ function: { name: 'shared' } }])
})

test('an explanation says which definition wins', async () => {
  const { status, body } = await ask('bob', 'GET /tools/explain?name=shared')
  expect(status).toBe(200)
  expect(body).toMatchObject({ name: 'shared' })
})

test.each<RefusedRow>([
  ['a list without a valid token', 'nobody', 'GET /tools/list', {}, '401 TOKEN_INVALID'],
  ['an unknown parameter of a list', 'bob', 'GET /tools/list?bogus=1', {}, '400 PARAMETER_UNKNOWN'],
  ['a limit of nothing', 'bob', 'GET /tools/list?limit=0', {}, '400 PARAMETER_INVALID'],
  ['an explanation without a valid token', 'nobody', 'GET /tools/explain?name=a', {}, '401 TOKEN_INVALID'],
  ['an explanation of two names', 'bob', 'GET /tools/explain?name=a,b', {}, '400 PARAMETER_INVALID'],
  ['another method of the list', 'bob', 'POST /tools/list', {}, '405 METHOD_NOT_ALLOWED'],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test.each([
  ['', 'The parameter name is missing.'],
  ['?name=', 'The parameter name is missing.'],
  ['?name=no%20name', 'The parameter name must be one tool name or alias.'],
  ['?name=a&name=b', 'The parameter name is given more than once.'],
])('an explanation of %j is a 400: %s', async (query, message) => {
  const { status, code, body } = await ask('bob', `GET /tools/explain${query}`)
  expect([status, code]).toEqual([400, 'PARAMETER_INVALID'])
  expect(body['error']).toMatchObject({ message })
})

test('a strict list of a layer that cannot be read is a 503, any other one names the layer', async () => {
  expect(await lost('bob', 'GET /tools/list?strict=1')).toMatchObject({
    status: 503,
    code: 'LAYER_UNAVAILABLE',
  })
  const { status, headers } = await lost('bob', 'GET /tools/list')
  expect(status).toBe(200)
  expect(headers.get('X-Tools-Layers')).toMatch(/file/)
})
