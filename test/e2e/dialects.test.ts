import { dialectRules, DIALECTS, inDialect, nameIn } from '@toolrack/contract'
import type { Dialect, InvocationResult, JsonObject, ToolDefinition } from '@toolrack/contract'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { aiSdk, anthropic, chat, gemini, langchain, responses } from '../client/calls.ts'
import { MESSAGES, SAID } from '../support/answered-messages.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { post, put, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

/** No vendor of models takes it: an alternative at the root, and a parameter with a blank in its name. */
const UNSAYABLE = {
  type: 'function',
  function: {
    name: 'unsayable',
    description: 'U.',
    parameters: {
      type: 'object',
      properties: { 'a b': { type: 'string' } },
      oneOf: [{ required: ['a b'] }, { maxProperties: 0 }],
    },
  },
}
const LOOSE = {
  type: 'function',
  function: {
    name: 'ns:loose',
    description: 'L.',
    parameters: { type: 'object', properties: { filter: { type: 'object' } } },
  },
  annotations: { readOnlyHint: true },
}
const MINE = [
  tool('ns:plain'),
  LOOSE,
  UNSAYABLE,
  tool('ns:git_pull', undefined, { category: 'vcs', tags: ['safe'] }),
  tool('ns:git_push', undefined, { category: 'vcs', tags: ['slow'] }),
  tool('ns:web.search', undefined, { category: 'web', tags: ['safe'] }),
  tool('ns:own_time', undefined, { category: 'web', runner: { kind: 'builtin', builtin: 'time' } }),
  // The calls of these are completed by their caller.
  tool('ns:flow', undefined, { runner: { kind: 'workflow', workflowName: 'tools-Notes' } }),
  tool('MINE'),
]

beforeAll(async () => {
  expect((await post(server, MINE)).status).toBe(200)
})

const get = (query: string, headers: Record<string, string> = {}, family = 'workflows'): Promise<Response> =>
  server.fetch(`/${family}/tools/list${query}`, { headers })

/** What a list in a dialect holds: Gemini's lies inside of one tool. */
async function itemsOf(answer: Response, dialect: Dialect): Promise<readonly JsonObject[]> {
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`)
  const body = (await answer.json()) as readonly JsonObject[]
  if (dialect !== 'gemini') return body
  expect(body.length).toBeLessThan(2)
  return (body[0]?.['functionDeclarations'] ?? []) as readonly JsonObject[]
}

const inShape = (definition: JsonObject, dialect: Dialect) => {
  const converted = inDialect(definition as unknown as ToolDefinition, dialectRules(dialect))
  return 'item' in converted ? [converted.item] : []
}

const quarantined = (answer: Response): string | null => answer.headers.get('x-tools-quarantined')

test.each(DIALECTS)(
  'the list in the dialect %s is what the contract makes of it, in both families',
  async (dialect) => {
    const query = `?dialect=${dialect}&names=ns:loose,ns:plain,unsayable`
    const answers = await Promise.all([get(query), get(query, {}, 'jobs')])
    const expected = [LOOSE, tool('ns:plain'), UNSAYABLE].flatMap((one) => inShape(one, dialect))
    for (const answer of answers) {
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(quarantined(answer)).toBe(dialect === 'mcp' ? null : 'unsayable')
      expect(JSON.stringify(await itemsOf(answer, dialect))).toBe(JSON.stringify(expected))
    }
  },
)

test.each(DIALECTS)('in the dialect %s every tool is listed or named as quarantined', async (dialect) => {
  const whole = (await (await get('')).json()) as readonly unknown[]
  const answer = await get(`?dialect=${dialect}`)
  const left = quarantined(answer)?.split(',') ?? []
  expect(await itemsOf(answer, dialect)).toHaveLength(whole.length - left.length)
  expect(answer.headers.get('x-tools-layers')).toBe((await get('')).headers.get('x-tools-layers'))
})

test('the list without a dialect knows nothing of quarantine', async () => {
  const answer = await get('?names=unsayable,ns:plain')
  expect(quarantined(answer)).toBeNull()
  const names = ((await answer.json()) as { function: { name: string } }[]).map((one) => one.function.name)
  expect(names).toEqual(['ns:plain', 'unsayable'])
})

test.each(DIALECTS)(
  'in %s a list by a scope has the same tools, whole, by name and in pages',
  async (dialect) => {
    const expected = ['ns:git_pull', 'ns:web.search'].map((name) => nameIn(dialectRules(dialect), name))
    const query = `scope=@vcs,@web&scope=!ns:own_*&scope=!ns:git_push&dialect=${dialect}`
    expect(await namesIn(await get(`?${query}`))).toEqual(expected)
    const names = 'names=ns__git_pull,ns:git_push,ns:web.search,ns:own_time'
    expect(await namesIn(await get(`?${query}&${names}`))).toEqual(expected)
    const paged: string[] = []
    let next: string | undefined = `/workflows/tools/list?${query}&limit=1`
    while (next !== undefined) {
      const answer: Response = await server.fetch(next)
      paged.push(...(await namesIn(answer)))
      next = /<(.*)>/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(paged).toEqual(expected)
  },
)

/** The names in a list of any dialect, of which none of these tools has another text that looks like one. */
async function namesIn(answer: Response): Promise<readonly string[]> {
  expect(answer.status).toBe(200)
  return Array.from((await answer.text()).matchAll(/"name":"([^"]+)"/g), ([, name = '']) => name)
}

test('each dialect has an entity tag of its own, which gives a 304 with the same headers', async () => {
  const tags = new Map<string, string>()
  for (const dialect of ['', ...DIALECTS.map((one) => `?dialect=${one}`)]) {
    const full = await get(dialect)
    const etag = full.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]+"$/)
    tags.set(etag, dialect)
    const again = await get(dialect, { 'If-None-Match': etag })
    expect([again.status, await again.text(), quarantined(again)]).toEqual([304, '', quarantined(full)])
    expect((await get(dialect)).headers.get('etag')).toBe(etag)
  }
  expect(tags.size).toBe(DIALECTS.length + 1)
  for (const [etag, dialect] of tags) {
    const other = dialect === '?dialect=mcp' ? '?dialect=gemini' : '?dialect=mcp'
    expect((await get(other, { 'If-None-Match': etag })).status).toBe(200)
  }
})

function describedBy(item: JsonObject): unknown {
  return item['description'] ?? (item['function'] as JsonObject | undefined)?.['description']
}

type Explained = {
  readonly dialects: Readonly<
    Record<
      string,
      { alias: string; conversion: string; obstacle: { pointer: string; reason: string } | null }
    >
  >
}

async function explain(name: string): Promise<Explained> {
  const answer = await server.fetch(`/workflows/tools/explain?name=${encodeURIComponent(name)}`)
  return (await answer.json()) as Explained
}

test('explain shows the alias of each dialect, and what keeps a tool out of one or from being strict', async () => {
  expect((await explain('unsayable')).dialects['anthropic']).toEqual({
    alias: 'unsayable',
    conversion: 'quarantined',
    obstacle: {
      pointer: '/function/parameters/oneOf',
      reason:
        'oneOf stands at the root, where the vendor takes plain parameters only; put it below one of them',
    },
  })
  const { dialects } = await explain('ns__loose')
  expect(Object.keys(dialects)).toEqual([...DIALECTS])
  expect(dialects['gemini']).toEqual({ alias: 'ns:loose', conversion: 'full', obstacle: null })
  expect(dialects['openai-strict']).toEqual({
    alias: 'ns__loose',
    conversion: 'non-strict',
    obstacle: {
      pointer: '/function/parameters/properties/filter',
      reason: 'the object declares nothing, so it takes anything',
    },
  })
  expect((await explain('nowhere')).dialects).toBeNull()
})

test('what is listed in a dialect can be called by the name that it has there', async () => {
  const [strict] = await itemsOf(await get('?dialect=openai-strict&names=ECHO'), 'openai-strict')
  expect(strict?.['function']).toMatchObject({ name: 'ECHO', strict: true })
  const invoked = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name: 'ns__plain', arguments: { text: 'a' } }),
  })
  expect(await invoked.json()).toMatchObject({ code: 'RUNS_AT_CLIENT', meta: { tool: 'ns:plain' } })
})

test('a change of a definition is in every dialect at once', async () => {
  expect((await put(server, 'ns:changed', tool('ns:changed'))).status).toBe(201)
  const before = await Promise.all(DIALECTS.map((dialect) => get(`?dialect=${dialect}`)))
  expect((await put(server, 'ns:changed', tool('ns:changed', 'Changed.'))).status).toBe(200)
  for (const [index, dialect] of DIALECTS.entries()) {
    const after = await get(`?dialect=${dialect}`)
    expect(after.headers.get('etag')).not.toBe(before[index]?.headers.get('etag'))
    expect((await itemsOf(after, dialect)).map(describedBy)).toContain('Changed.')
  }
})

test('null leaves out what a strict model has to write, in the calls of OpenAI and of nobody else', async () => {
  const [strict] = await itemsOf(await get('?dialect=openai-strict&names=GET_TIME'), 'openai-strict')
  const { parameters } = (strict?.['function'] ?? {}) as { parameters: JsonObject }
  const args = Object.fromEntries(Object.keys(parameters['properties'] ?? {}).map((name) => [name, null]))
  expect(Object.keys(args)).not.toEqual([])
  const calls = [
    { id: 'c', type: 'function', function: { name: 'GET_TIME', arguments: JSON.stringify(args) } },
    { type: 'function_call', call_id: 'c', name: 'GET_TIME', arguments: JSON.stringify(args) },
    { type: 'tool_use', id: 'c', name: 'GET_TIME', input: args },
    { functionCall: { name: 'GET_TIME', args } },
  ]
  const types = calls.map(async (call) => {
    const answer = await server.fetch('/jobs/tools/dispatch', {
      method: 'POST',
      body: JSON.stringify([call]),
    })
    const { results } = (await answer.json()) as { results: { result: { resultType: string } }[] }
    return results.map(({ result }) => result.resultType).join()
  })
  expect(await Promise.all(types)).toEqual(['success', 'success', 'failure', 'failure'])
})

type Dispatched = {
  readonly format: string
  readonly messages: readonly unknown[]
  readonly results: readonly { readonly index: number; readonly result: InvocationResult | null }[]
  readonly pending: readonly { readonly index: number; readonly workflowName?: string }[]
}

function send(path: string, body: unknown): Promise<Response> {
  return server.fetch(`/workflows/tools/${path}`, { method: 'POST', body: JSON.stringify(body) })
}

async function answered(path: string, body: unknown): Promise<unknown> {
  const answer = await send(path, body)
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

const FORMATS = [
  ['openai', chat, 'tool_calls', { role: 'assistant', content: null }],
  ['openai-responses', responses, 'output', { id: 'resp_1', object: 'response' }],
  ['anthropic', anthropic, 'content', { role: 'assistant', stop_reason: 'tool_use' }],
  ['gemini', gemini, 'parts', { role: 'model' }],
  ['langchain', langchain, 'tool_calls', { content: [] }],
  ['ai-sdk', aiSdk, 'content', { role: 'assistant' }],
] as const

test.each(FORMATS)(
  '%s: calls of workflows are pending, and complete answers all calls as dispatch would have',
  async (format, make, wrapper, around) => {
    const flow = make('c1', 'ns__flow', { text: 'one' })
    const mine = make('c3', 'MINE', { text: 'two' })
    const calls = [make('c0', 'ECHO', { text: 'zero' }), flow, make('c2', 'NOPE', {}), mine]
    for (const body of [calls, { ...around, [wrapper]: calls }]) {
      const { results, pending, ...rest } = (await answered('dispatch', body)) as Dispatched
      expect(rest.format).toBe(format)
      expect(pending).toEqual([
        {
          index: 1,
          id: 'c1',
          name: 'ns:flow',
          layer: 'user',
          kind: 'workflow',
          workflowName: 'tools-Notes',
          arguments: { text: 'one' },
          call: flow,
        },
        {
          index: 3,
          id: 'c3',
          name: 'MINE',
          layer: 'user',
          kind: 'client',
          arguments: { text: 'two' },
          call: mine,
        },
      ])
      const reported = pending.map(({ index }) => ({
        index,
        result: { encoded: `ran ${index}`, cost: 0.5 },
      }))
      const completed = { format, calls: body, results: [...results, ...reported] }
      const all = (await answered('dispatch/complete', completed)) as Dispatched
      expect(all.format).toBe(format)
      const texts = ['zero', 'ran 1', 'Unsupported tool: NOPE', 'ran 3']
      const places = texts.map((text) => JSON.stringify(all.messages).indexOf(JSON.stringify(text)))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(places[0]).toBeGreaterThan(0)
      // The same results, run by the service itself, make the same messages.
      const echoed = texts.map((text, index) =>
        index === 2 ? calls[2] : make(`c${index}`, 'ECHO', { text }),
      )
      const { messages } = (await answered('dispatch', echoed)) as Dispatched
      expect(named(all.messages)).toEqual(named(messages))
    }
  },
)

/** The messages without the names of tools, which only some vendors' messages have. */
function named(messages: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(messages), (key, value: unknown) =>
    key === 'name' || key === 'toolName' ? undefined : value,
  )
}

test.each(FORMATS)(
  '%s: a ToolResult, a text and an encoded text are the same to the model',
  async (format, make, ..._rest) => {
    const calls = [make('c0', 'ECHO', {}), make('c1', 'NOPE', {}), make('c2', 'ECHO', {})]
    const failure = {
      resultType: 'failure',
      textResultForLlm: SAID[1],
      error: SAID[1],
      code: 'OWN',
      meta: {},
    }
    const results = [
      { index: 2, result: { resultType: 'success', textResultForLlm: SAID[2] } },
      { index: 0, result: SAID[0] },
      { index: 1, result: failure },
    ]
    expect(await answered('dispatch/complete', { format, calls, results })).toEqual({
      format,
      messages: MESSAGES[format],
    })
  },
)

test('a value of a ToolResult reaches Gemini as a value, and texts of the answer are passed over', async () => {
  const result = { resultType: 'success', textResultForLlm: '{"a":[1]}', data: { a: [1] } }
  const calls = { role: 'model', parts: [{ text: 'Hm.' }, gemini(undefined, 'flow', {})] }
  const results = [{ index: 1, id: null, result }]
  expect(await answered('dispatch/complete', { format: 'gemini', calls, results })).toEqual({
    format: 'gemini',
    messages: [
      { role: 'user', parts: [{ functionResponse: { name: 'flow', response: { output: { a: [1] } } } }] },
    ],
  })
})

test('results that are too large are completed without data, or without the calls that dispatch has answered', async () => {
  const calls = [0, 1, 2].map((index) => chat(`c${index}`, index < 2 ? 'ECHO' : 'MINE', { text: 'a' }))
  const textResultForLlm = 'x'.repeat(250 * 1024)
  const ran = [0, 1].map((index) => ({
    index,
    id: `c${index}`,
    result: { resultType: 'success', textResultForLlm, data: [textResultForLlm, textResultForLlm] },
  }))
  const mine = { index: 2, result: 'mine' }
  const refused = await send('dispatch/complete', { format: 'openai', calls, results: [...ran, mine] })
  expect(await errorAnswer(refused)).toMatchObject({
    httpStatus: 413,
    reason: 'BODY_TOO_LARGE',
    message: expect.stringMatching(/Leave out the data of the results, or complete only some of the calls/),
  })
  const results = [...ran.map((one) => ({ ...one, result: { ...one.result, data: undefined } })), mine]
  const whole = (await answered('dispatch/complete', { format: 'openai', calls, results })) as Dispatched
  expect(whole.messages).toHaveLength(3)
  const rest = { format: 'openai', calls: [calls[2]], results: [{ ...mine, index: 0 }] }
  const { messages } = (await answered('dispatch/complete', rest)) as Dispatched
  expect(messages).toEqual([{ role: 'tool', tool_call_id: 'c2', content: 'mine' }])
  expect(whole.messages[2]).toEqual(messages[0])
})

test('a failure needs no more than its text', async () => {
  const result = { resultType: 'failure', textResultForLlm: 'The ledger is closed.' }
  const body = { format: 'gemini', calls: [gemini(undefined, 'flow', {})], results: [{ index: 0, result }] }
  expect(await answered('dispatch/complete', body)).toMatchObject({
    messages: [{ parts: [{ functionResponse: { response: { error: 'The ledger is closed.' } } }] }],
  })
})

test('complete runs nothing, and the same request has the same answer', async () => {
  const body = {
    format: 'openai',
    calls: [chat('c0', 'GET_TIME', {}), chat('c1', 'ECHO', '{"broken"')],
    results: [
      { index: 0, result: 'long ago' },
      { index: 1, result: '' },
    ],
  }
  const texts = await Promise.all([1, 2].map(async () => (await send('dispatch/complete', body)).text()))
  expect(texts[0]).toBe(texts[1])
  expect(JSON.parse(texts[0] ?? '')).toEqual({
    format: 'openai',
    messages: [
      { role: 'tool', tool_call_id: 'c0', content: 'long ago' },
      { role: 'tool', tool_call_id: 'c1', content: '' },
    ],
  })
})

test('null for an omitted parameter is no argument of a workflow, and broken arguments are for the model to correct', async () => {
  const body = [chat('c0', 'ns:flow', { text: 'a' }), chat('c1', 'ns:flow', '{"text"')]
  const { results, pending } = (await answered('dispatch', body)) as Dispatched
  expect(pending).toMatchObject([{ index: 0 }])
  expect(results).toMatchObject([{ result: null }, { result: { code: 'ARGUMENTS_INVALID' } }])
  const optional = { properties: { note: { type: 'string' } } }
  const runner = { kind: 'workflow', workflowName: 'w' }
  const definition = { name: 'OPTIONAL', description: 'D.', parameters: optional }
  await put(server, 'OPTIONAL', { type: 'function', function: definition, runner })
  expect(await answered('dispatch', [chat('c0', 'OPTIONAL', { note: null })])).toMatchObject({
    pending: [{ arguments: {} }],
  })
})

test('invoke of a workflow is refused with its name, and explain says that the client calls it', async () => {
  const answer = await send('invoke', { name: 'ns:flow', arguments: { text: 'a' } })
  expect(answer.status).toBe(409)
  expect(await answer.json()).toMatchObject({
    code: 'RUNS_AT_CLIENT',
    error: 'ns:flow is run by the workflow tools-Notes, which the caller starts, not by the service.',
  })
  const explained = await server.fetch('/workflows/tools/explain?name=ns:flow')
  expect(await explained.json()).toMatchObject({ callable: 'client' })
})

const CALLS = [chat('c0', 'A', {}), chat('c1', 'B', {})]
const one = { index: 0, result: 'a' }
const two = { index: 1, result: 'b' }
const about = (results: unknown): JsonObject => ({ format: 'openai', calls: CALLS, results }) as JsonObject

test.each<[title: string, body: unknown, message: RegExp, reason?: string]>([
  ['a list', [], /must be a JSON object with the fields format, calls and results/],
  ['no format', { calls: CALLS, results: [one, two] }, /must be a JSON object with the fields format/],
  ['an unknown field', { ...about([one, two]), messages: [] }, /and no others/],
  ['another format', { ...about([one, two]), format: 'anthropic' }, /calls have the format openai/],
  [
    'no calls',
    { format: 'openai', results: [] },
    /field calls must be a list of tool calls/,
    'CALLS_INVALID',
  ],
  [
    'an empty list of calls',
    { format: 'openai', calls: [], results: [] },
    /field calls holds no tool call/,
    'CALLS_INVALID',
  ],
  [
    'one id twice',
    { ...about([one, two]), calls: [CALLS[0], CALLS[0]] },
    /two calls with one id/,
    'CALLS_INVALID',
  ],
  ['results that are no list', about({ 0: 'a' }), /list of results is not an array/],
  ['no results', { format: 'openai', calls: CALLS }, /has no result for the call with the index 0/],
  ['one result too few', about([one]), /has no result for the call with the index 1/],
  ['two results of one call', about([one, two, one]), /has two results for the call with the index 0/],
  ['a result of no call', about([one, two, { index: 2, result: 'c' }]), /item 2 without the index of a call/],
  [
    'an index that is a text',
    about([one, { index: '1', result: 'b' }]),
    /item 1 without the index of a call/,
  ],
  ['an item that is no object', about(['SECRET', two]), /item 0 without the index of a call/],
  ['the id of another call', about([one, { ...two, id: 'c0' }]), /item 1 that has the id of another call/],
  [
    'a result that is null',
    about([one, { index: 1, result: null }]),
    /has no result for the call with the index 1/,
  ],
  [
    'an encoded value',
    about([one, { index: 1, result: { encoded: { a: 'SECRET' } } }]),
    /item 1 whose result/,
  ],
  ['half a ToolResult', about([one, { index: 1, result: { resultType: 'success' } }]), /item 1 whose result/],
])('%s is refused', async (_title, body, message, reason = 'BODY_INVALID') => {
  const answer = await errorAnswer(await send('dispatch/complete', body))
  expect(answer).toMatchObject({
    httpStatus: 400,
    reason,
    message: expect.stringMatching(message),
  })
  expect(answer.message).not.toContain('SECRET')
})
