import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { IncomingMessage } from 'node:http'
import type { ListOptions } from '../../packages/client/src/index.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { jwt, listAnswer, listed, namesOf, refusal, silence, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const LIST = '/workflows/tools/list?envelope=array'

const asked = (): IncomingMessage[] => server.asked
const urls = (): (string | undefined)[] => asked().map(({ url }) => url)

test("a list is the service's own, and says what the service says of it", async () => {
  const headers = {
    'X-Tools-Revision': 'r7',
    'X-Tools-Layers': 'user=3,global=stale,file=14',
    'X-Tools-Unknown': 'NOPE,NADA,+3',
    'X-Tools-Quarantined': 'odd:one',
    'X-Tools-Left-Out': 'OUT,+1',
    'X-Tools-Unavailable': 'ILL',
    'X-Tools-Scope-Unmatched': 'gti_*,tag:100%25%20%C3%BC',
  }
  server.answers = [listAnswer([listed('A'), listed('B')], headers)]
  expect(await toolDefs(server).list()).toEqual({
    tools: [listed('A'), listed('B')],
    source: 'service',
    reason: null,
    revision: 'r7',
    layers: { user: 3, global: 'stale', file: 14 },
    unknown: ['NOPE', 'NADA'],
    quarantined: ['odd:one'],
    unavailable: ['ILL'],
    leftOut: ['OUT'],
    unmatched: ['gti_*', 'tag:100% ü'],
  })
  expect(asked()[0]).toMatchObject({
    url: LIST,
    headers: { authorization: 'Bearer secret-token' },
  })
})

const bill = (text: string) => listAnswer([], { 'X-Tools-Tokens': text })
test('a list with a budget has the bill of the service, and one without has none', async () => {
  server.answers = [bill('39/40; full=1; short=2; deferred=3; dropped=4')]
  const { tokens } = await toolDefs(server).list({ budget: 40 })
  expect(tokens).toEqual({ used: 39, budget: 40, full: 1, short: 2, deferred: 3, dropped: 4 })
  server.answers = [bill('39/-; full=1; short=0; deferred=0; dropped=0')]
  expect((await toolDefs(server).list({ tokens: true })).tokens).toMatchObject({ used: 39, budget: null })
  server.answers = [bill('many')]
  expect(await toolDefs(server).list()).not.toHaveProperty('tokens')
  expect(urls()).toEqual([`${LIST}&budget=40`, `${LIST}&tokens=1`, LIST])
})

test.each([-1, 1.5, Number.NaN, 1e15, Infinity])(
  'a budget of %d is refused before a request',
  async (budget) => {
    await expect(toolDefs(server).list({ budget })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    expect(asked()).toEqual([])
  },
)

test.each(['name', 'limit', 'onChange'])(
  'an option %s, which no list has, is refused before a request with the options there are',
  async (option) => {
    // A program in JavaScript has no types that refuse it.
    const refused = toolDefs(server).list({ [option]: 'x' })
    await expect(refused).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: `The option ${option} is none of a list, which takes names, tags, category, q, explain, with, loaded, scope, dialect, session, budget, tokens, strict, healthy, signal.`,
    })
    expect(asked()).toEqual([])
  },
)

test('a list takes every option that its types have', async () => {
  const every: Required<ListOptions> = {
    names: 'A',
    tags: ['t'],
    category: 'c',
    q: 'q',
    explain: 'scores',
    with: 'search',
    loaded: ['B'],
    scope: '*',
    dialect: 'openai',
    session: 's',
    budget: 9,
    tokens: true,
    strict: true,
    healthy: true,
    signal: new AbortController().signal,
  }
  server.answers = [listAnswer([])]
  expect((await toolDefs(server).list(every)).source).toBe('service')
})

test('without the service, a list with a budget is the whole local list, and has no bill', async () => {
  server.answers = [refusal(503, 'LAYER_UNAVAILABLE', 'No.')]
  const lost = await toolDefs(server).list({ budget: 1 })
  expect(lost).toMatchObject({ source: 'local', reason: { code: 'FAILED' } })
  expect(lost.tools).toEqual((await toolDefs(server).list()).tools)
  expect(lost).not.toHaveProperty('tokens')
})

test('the envelope with items is read too, and what it adds is no part of a tool', async () => {
  server.answers = [listAnswer({ items: [{ ...listed('A'), workflowName: 'tools-CliTools' }] })]
  expect((await toolDefs(server).list()).tools).toEqual([listed('A')])
  server.answers = [listAnswer({ items: [] })]
  expect(await toolDefs(server).list()).toMatchObject({ tools: [], source: 'service' })
})

test('scopes are asked for as they are, each by itself', async () => {
  server.answers = [listAnswer([]), listAnswer([])]
  const tools = toolDefs(server)
  await tools.list({ scope: '@web,!a b' })
  await tools.list({ scope: ['ref:room/7', 'git_*'] })
  expect(urls()).toEqual([`${LIST}&scope=%40web%2C%21a+b`, `${LIST}&scope=ref%3Aroom%2F7&scope=git_*`])
})

test('jobs have their own route, and a service account says for whom it asks', async () => {
  server.answers = [listAnswer([])]
  const options = { route: 'jobs', userId: 'ann', service: `${server.origin}/behind/proxy/` } as const
  await toolDefs(server, options).list()
  expect(asked()[0]).toMatchObject({
    url: '/behind/proxy/jobs/tools/list?envelope=array',
    headers: { 'x-user-id': 'ann' },
  })
})

test.each<[unknown, string]>([
  [undefined, ''],
  ['', ''],
  [',, ', ''],
  [[''], ''],
  ['A', '&names=A'],
  [',A,B', '&names=A%2CB'],
  [['A', 'B', 'A'], '&names=A%2CB'],
  ['["A","B"]', '&names=A%2CB'],
  ['[]', '&names=%5B%5D'],
  [[], '&names=%5B%5D'],
  [['a:b@sha256:00'], '&names=a%3Ab%40sha256%3A00'],
])('names %p are asked for as %p, and always as an array', async (names, search) => {
  server.answers = [listAnswer([])]
  await toolDefs(server).list({ names: names as string })
  expect(urls()).toEqual([`${LIST}${search}`])
})

test('tags, category, dialect, strict and healthy are asked for', async () => {
  server.answers = [listAnswer([{ name: 'A', input_schema: {} }])]
  const options = {
    tags: ['x', 'y'],
    category: ['cli'],
    dialect: 'anthropic',
    strict: true,
    healthy: true,
  } as const
  const { tools } = await toolDefs(server).list(options)
  expect(tools).toEqual([{ name: 'A', input_schema: {} }])
  expect(urls()).toEqual([`${LIST}&tags=x%2Cy&category=cli&dialect=anthropic&strict=1&healthy=1`])
})

test.each([
  ['a broken JSON array', '["A"', /names is not a JSON array/],
  ['too many', Array.from({ length: 201 }, (_, index) => `T${index}`), /names holds 201 names/],
])('%s of names is refused before anything is asked', async (_title, names, message) => {
  await expect(toolDefs(server).list({ names })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringMatching(message),
  })
  expect(asked()).toEqual([])
})

test('a list that has not changed is asked for with its ETag, and is still the service’s own', async () => {
  server.answers = [
    listAnswer([listed('A')], { ETag: '"e1"', 'X-Tools-Revision': 'r1' }),
    (_req, res) => res.writeHead(304, { ETag: '"e1"' }).end(),
    listAnswer([listed('B')], { ETag: '"e2"' }),
    (_req, res) => res.writeHead(304).end(),
  ]
  const tools = toolDefs(server)
  const lists = [await tools.list(), await tools.list(), await tools.list(), await tools.list()]
  expect(lists.map((list) => [list.source, namesOf(list.tools)])).toEqual([
    ['service', ['A']],
    ['service', ['A']],
    ['service', ['B']],
    ['service', ['B']],
  ])
  expect(asked().map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"e1"', '"e1"', '"e2"'])
  expect(lists[1]?.revision).toBe('r1')
})

test('an ETag is shown only by the subject and for the question that it belongs to', async () => {
  server.answers = [listAnswer([listed('A')], { ETag: '"e1"' })]
  let subject = 'ann'
  const tools = toolDefs(server, { token: () => jwt({ sub: subject, iat: asked().length }) })
  await tools.list()
  await tools.list({ names: 'A' })
  subject = 'bob'
  await tools.list()
  subject = 'ann'
  await tools.list()
  expect(asked().map(({ headers }) => headers['if-none-match'])).toEqual([
    undefined,
    undefined,
    undefined,
    '"e1"',
  ])
})

test('callers who ask the same at the same time share one request, others do not', async () => {
  server.answers = [(_req, res) => setImmediate(() => res.end(JSON.stringify([listed('A')])))]
  const tools = toolDefs(server)
  const options = [{ names: 'A' }, { names: ['A'] }, { names: '["A"]' }, { names: ',A' }, { names: 'B' }]
  const lists = await Promise.all(options.map((each) => tools.list(each)))
  expect(lists.map(({ source }) => source)).toEqual(options.map(() => 'service'))
  expect(urls().toSorted()).toEqual([`${LIST}&names=A`, `${LIST}&names=B`])
  await tools.list({ names: 'A' })
  expect(urls()).toHaveLength(3)
})

test('callers who ask the same with other tokens share nothing, whoever the tokens say to be', async () => {
  server.answers = [listAnswer([listed('A')])]
  let tokens = 0
  const tools = toolDefs(server, { token: () => jwt({ sub: 'ann', exp: (tokens += 1) }) })
  await Promise.all([tools.list(), tools.list()])
  expect(new Set(asked().map(({ headers }) => headers.authorization)).size).toBe(2)
})

test('a caller who leaves does not take the answer from the others', async () => {
  const { promise: gone, resolve: answer } = Promise.withResolvers<void>()
  server.answers = [(_req, res) => void gone.then(() => res.end(JSON.stringify([listed('A')])))]
  const tools = toolDefs(server)
  const leaving = new AbortController()
  const left = tools.list({ signal: leaving.signal })
  const stayed = tools.list()
  await untilAsked(1)
  leaving.abort(new Error('I have gone'))
  await expect(left).rejects.toThrow('I have gone')
  answer()
  expect(await stayed).toMatchObject({ source: 'service' })
  expect(asked()).toHaveLength(1)
})

test('when the last caller leaves the request ends, and it counts as no loss of the service', async () => {
  let ended: (() => void) | undefined
  const closed = new Promise<void>((resolve) => (ended = resolve))
  server.answers = [(req) => req.on('close', () => ended?.()), listAnswer([listed('A')])]
  const tools = toolDefs(server)
  const leaving = new AbortController()
  const left = [tools.list({ signal: leaving.signal }), tools.list({ signal: leaving.signal })]
  await untilAsked(1)
  leaving.abort(new Error('all gone'))
  for (const list of left) await expect(list).rejects.toThrow('all gone')
  await closed
  expect(await tools.list()).toMatchObject({ source: 'service', tools: [listed('A')] })
})

test('a caller may add tools to a list, and nobody else sees them', async () => {
  server.answers = [
    listAnswer([listed('A')], { ETag: '"e"' }),
    (_req, res) => res.writeHead(304).end(),
    silence,
  ]
  const tools = toolDefs(server, { deadlineMs: 2_000 })
  for (const source of ['service', 'service', 'remembered']) {
    const [one, other] = await Promise.all([tools.list(), tools.list()])
    expect([one.source, namesOf(one.tools)]).toEqual([source, ['A']])
    one.tools.push(...one.tools)
    expect(namesOf(other.tools)).toEqual(['A'])
  }
})

test('a signal that was given before asks for nothing', async () => {
  server.answers = [silence]
  const signal = AbortSignal.abort(new Error('too late'))
  await expect(toolDefs(server).list({ signal })).rejects.toThrow('too late')
  expect(asked()).toEqual([])
})

test.each([
  [{ service: 'not an address' }, /service must be an http or https address/],
  [{ service: 'ftp://tools.example' }, /service must be an http or https address/],
  [{ service: 'http://ann:pw@tools.example' }, /without a user name/],
])('options %p are refused when it is made', (options, message) => {
  expect(() => toolDefs(server, options)).toThrow(message)
  expect(() => toolDefs(server, options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
})

async function untilAsked(count: number): Promise<void> {
  while (asked().length < count) await new Promise((resolve) => setTimeout(resolve, 5))
}
