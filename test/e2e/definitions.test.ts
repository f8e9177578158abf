import { afterAll, expect, test } from '@jest/globals'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { list, listedNames, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

type Definition = {
  readonly name: string
  readonly layer: string
  readonly digest: string
  readonly revision: string
  readonly updatedAt: string
  readonly definition: unknown
}
const get = (name: string, query = '', headers: Record<string, string> = {}) =>
  server.fetch(`/workflows/tools/defs/${name}${query}`, { headers })
const read = async (name: string, query = ''): Promise<Definition> =>
  (await (await get(name, query)).json()) as Definition
const written = async (answer: Promise<Response>): Promise<WriteAnswer> =>
  (await (await answer).json()) as WriteAnswer

test('a definition goes in with 201, comes out as written, and is listed at once', async () => {
  const answer = await put(server, 'fresh', tool('fresh'))
  expect(answer.status).toBe(201)
  const body = (await answer.json()) as WriteAnswer
  expect(Object.keys(body).join()).toBe('name,layer,outcome,digest,revision,normalised,unenforced,shadows')
  expect(body).toMatchObject({
    name: 'fresh',
    layer: 'user',
    outcome: 'created',
    normalised: [],
    shadows: [],
  })
  expect(body.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(answer.headers.get('etag')).toBe(`"${body.digest}"`)
  const { definition, ...rest } = await read('fresh')
  expect(definition).toEqual(tool('fresh'))
  expect(rest).toMatchObject({ name: 'fresh', layer: 'user', digest: body.digest, revision: body.revision })
  expect(new Date(rest.updatedAt).toISOString()).toBe(rest.updatedAt)
  expect(await listedNames(server, 'names=fresh')).toEqual(['fresh'])
})

test('a repeated write is unchanged: same revision, no new version', async () => {
  const first = await written(put(server, 'repeated', tool('repeated')))
  const again = await written(put(server, 'repeated', tool('repeated')))
  expect(again).toEqual({ ...first, outcome: 'unchanged' })
  const versions = (await (await get('repeated/versions')).json()) as { items: unknown[] }
  expect(versions.items).toHaveLength(1)
})

test('every key that an author wrote is listed, with the three that clients read added after them', async () => {
  const parameters = {
    description: 'Everything.',
    $defs: { name: { type: 'string', minLength: 1, default: 'x' } },
    properties: {
      zeta: { $ref: '#/$defs/name' },
      alpha: { type: 'array', items: { type: ['string', 'null'], enum: ['a', null] }, uniqueItems: true },
      any: true,
    },
    additionalProperties: false,
    anyOf: [{ required: ['zeta'] }, { required: ['alpha'] }],
    'x-own': { deep: [1.5, 1e-7, -0.25, 9_007_199_254_740_991] },
  }
  expect((await put(server, 'whole', { description: 'Whole.', parameters })).status).toBe(201)
  const [listed] = await list(server, 'names=whole')
  expect(JSON.stringify(listed?.function.parameters)).toBe(
    JSON.stringify({ ...parameters, type: 'object', required: [] }),
  )
  expect((await read('whole')).definition).toMatchObject({ function: { parameters } })
})

test('runner, tags, annotations, limits and sealed are kept as written', async () => {
  const more = {
    runner: { kind: 'http', url: 'https://x.example/y', headers: { a: 'b' } },
    category: 'own',
    tags: ['one', 'two words'],
    annotations: { title: 'T', readOnlyHint: true, vendorHint: [1] },
    limits: { timeoutSeconds: 2.5 },
    sealed: false,
  }
  expect((await put(server, 'rich', tool('rich', 'Rich.', more))).status).toBe(201)
  expect((await read('rich')).definition).toEqual(tool('rich', 'Rich.', more))
})

test('the entity tag of a definition is its digest in quotes, and If-None-Match on it gives 304', async () => {
  const { digest } = await written(put(server, 'tagged', tool('tagged')))
  const answer = await get('tagged')
  expect(answer.headers.get('etag')).toBe(`"${digest}"`)
  for (const sent of [`"${digest}"`, `W/"${digest}"`, '*', `"other", "${digest}"`]) {
    const again = await get('tagged', '', { 'If-None-Match': sent })
    expect([sent, again.status, await again.text()]).toEqual([sent, 304, ''])
  }
  expect((await get('tagged', '', { 'If-None-Match': '"other"' })).status).toBe(200)
})

async function digest(body: unknown): Promise<string> {
  return (await written(put(server, 'digested', body))).digest
}

test('the digest is of what a caller relies on: not of tags and key order, but of every word of the schema', async () => {
  const base = await digest(tool('digested'))
  expect(await digest(tool('digested', undefined, { tags: ['new'], category: 'other' }))).toBe(base)
  const { function: fn, type } = tool('digested') as { function: { parameters: object }; type: string }
  const { parameters } = fn
  const turned = Object.fromEntries(Object.entries(parameters).toReversed())
  expect(await digest({ function: { ...fn, parameters: turned }, type })).toBe(base)
  const others = [
    tool('digested', 'Other.'),
    tool('digested', undefined, { annotations: { readOnlyHint: true } }),
    { type, function: { ...fn, parameters: { ...parameters, required: [] } } },
  ]
  for (const other of others) expect(await digest(other)).not.toBe(base)
})

test('a delete answers with what is gone; then the definition is a 404 and no longer listed', async () => {
  const { digest } = await written(put(server, 'going', tool('going')))
  const answer = await remove(server, 'going')
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ name: 'going', layer: 'user', outcome: 'deleted', digest })
  expect(await errorAnswer(await get('going'))).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
  expect(await errorAnswer(await remove(server, 'going'))).toMatchObject({ httpStatus: 404 })
  expect(await listedNames(server, 'names=going')).toEqual([])
})

test.each(['nothing', 'not%20a%20name', 'constructor', '__proto__', 'toString', '%E2%82%AC'])(
  'reading, deleting and rolling back %s, which was never there, is a 404',
  async (name) => {
    const body = '{"revision":"1-0"}'
    const answers = await Promise.all([
      get(name),
      get(`${name}/versions`),
      server.fetch(`/workflows/tools/defs/${name}`, { method: 'DELETE' }),
      server.fetch(`/workflows/tools/defs/${name}/rollback`, { method: 'POST', body }),
    ])
    for (const answer of answers) {
      expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
    }
  },
)

test('a definition of the file layer is read like any other and says where it stands', async () => {
  const file = (await read('READ_FILE', '?layer=file')) as Definition & { source: string }
  expect(file).toMatchObject({ name: 'READ_FILE', layer: 'file' })
  expect(file.source).toMatch(/^[a-z]+\.json#\/tools\/\d+$/)
  expect((await get('READ_FILE')).status).toBe(404)
})

const NAMES_MISMATCH = [
  { name: 'other', description: 'X.' },
  { type: 'function', function: { name: 'other', description: 'X.' } },
  { name: '', description: 'X.' },
  { id: 'other', desc: 'X.' },
  { name: 'this_one', defs: { type: 'function', function: { name: 'other', description: 'X.' } } },
]
test.each(NAMES_MISMATCH)(
  'a body that names another tool than the path is a NAME_MISMATCH: %j',
  async (body) => {
    const answer = await errorAnswer(await put(server, 'this_one', body))
    expect(answer).toMatchObject({ httpStatus: 400, reason: 'NAME_MISMATCH' })
    expect((await get('this_one')).status).toBe(404)
  },
)

test('a body without a name takes that of the path', async () => {
  expect(await written(put(server, 'of_path', { description: 'X.' }))).toMatchObject({ name: 'of_path' })
  const wrapped = { type: 'function', function: { description: 'Y.', parameters: { type: 'object' } } }
  expect(await written(put(server, 'of_path', wrapped))).toMatchObject({ outcome: 'updated', normalised: [] })
  const folded = { defs: wrapped }
  expect(await written(put(server, 'of_path', folded))).toMatchObject({ outcome: 'unchanged' })
})
