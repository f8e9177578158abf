import { expect, test } from '@jest/globals'
import { CALLS_MAX } from '@toolrack/contract'
import type { InvocationResult } from '@toolrack/contract'
import { MESSAGES, SAID } from '../support/answered-messages.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { put, tool } from '../support/tool.ts'
import { WEATHER } from '../support/weather-module.ts'

type Answer = {
  readonly format: string
  readonly messages: readonly unknown[]
  readonly results: readonly {
    readonly id: string | null
    readonly name: string
    readonly result: InvocationResult | null
  }[]
  readonly pending: readonly unknown[]
}

const start = sharedServerWithRunner()
let preparing: Promise<unknown> | undefined

async function withWeather(): Promise<Server> {
  const server = await start()
  await (preparing ??= uploaded(server, 'weather', WEATHER))
  return server
}

function send(server: Server, body: unknown): Promise<Response> {
  return server.fetch('/workflows/tools/dispatch', { method: 'POST', body: JSON.stringify(body) })
}

async function dispatch(server: Server, body: unknown): Promise<Answer> {
  const answer = await send(server, body)
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}

const chat = (id: string, name: string, args: unknown): object => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
})
const responses = (id: string, name: string, args: unknown): object => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: JSON.stringify(args),
  status: 'completed',
})
const anthropic = (id: string, name: string, input: unknown): object => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const langchain = (id: string, name: string, args: unknown): object => ({ type: 'tool_call', id, name, args })
const aiSdk = (toolCallId: string, toolName: string, input: unknown): object => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})
const gemini = (id: string | undefined, name: string, args?: unknown): object => ({
  functionCall: { ...(id !== undefined && { id }), name, ...(args !== undefined && { args }) },
})

const LEDGER = `
def newest() -> dict:
    "Gives the newest entry."
    return {"id": 2**53 + 1}


TOOL_SPECS = [{"name": "ledger:newest", "handler": newest}]
`

type MakeCall = (id: string, name: string, args: unknown) => object
const FORMATS: readonly [keyof typeof MESSAGES, MakeCall, string, object][] = [
  ['openai', chat, 'tool_calls', { role: 'assistant', content: null }],
  ['openai-responses', responses, 'output', { id: 'resp_1', object: 'response' }],
  ['anthropic', anthropic, 'content', { role: 'assistant', stop_reason: 'tool_use' }],
  ['gemini', gemini, 'parts', { role: 'model' }],
  ['langchain', langchain, 'tool_calls', { content: [], invalid_tool_calls: [] }],
  ['ai-sdk', aiSdk, 'content', { role: 'assistant' }],
]

test.each(FORMATS)(
  '%s: known and unknown calls are answered in their order, in the shape that the vendor wants',
  async (format, make, wrapper, around) => {
    const server = await start()
    const calls = [
      make('c0', 'ECHO', { text: 'one' }),
      make('c1', 'NOPE', {}),
      make('c2', 'ECHO', { text: 'two' }),
    ]
    for (const body of [calls, { ...around, [wrapper]: calls }]) {
      const answer = await dispatch(server, body)
      expect(answer).toMatchObject({ format, messages: MESSAGES[format], pending: [] })
      expect(answer.results.map(({ id, name, result }) => [id, name, result?.textResultForLlm])).toEqual(
        SAID.map((said, index) => [`c${index}`, index === 1 ? 'NOPE' : 'ECHO', said]),
      )
    }
  },
)

test('the old function call of OpenAI is answered by the name of its function', async () => {
  const server = await start()
  const call = { name: 'ECHO', arguments: '{"text":"hi"}' }
  for (const body of [[call], { role: 'assistant', content: null, function_call: call }])
    expect(await dispatch(server, body)).toMatchObject({
      format: 'openai-functions',
      messages: [{ role: 'function', name: 'ECHO', content: 'hi' }],
      results: [{ index: 0, id: null, name: 'ECHO', result: { resultType: 'success' } }],
    })
})

test('null of a strict model that came through LangChain or the AI SDK means that the argument was omitted', async () => {
  const server = await start()
  for (const make of [langchain, aiSdk]) {
    const { results } = await dispatch(server, [make('c', 'GET_TIME', { timeZone: null })])
    expect(results).toMatchObject([{ result: { resultType: 'success' } }])
  }
})

test('what a model says beside its calls is passed over', async () => {
  const server = await start()
  const said = await dispatch(server, [
    { type: 'thinking', thinking: '…', signature: 's' },
    { type: 'text', text: 'Let me see.' },
    anthropic('c1', 'ECHO', { text: 'a' }),
  ])
  expect(said.results).toMatchObject([{ index: 2, id: 'c1' }])
  const reasoned = await dispatch(server, {
    output: [{ type: 'reasoning', summary: [] }, responses('c1', 'ECHO', { text: 'a' })],
  })
  expect(reasoned.results).toMatchObject([{ index: 1, id: 'c1' }])
  const thought = await dispatch(server, {
    parts: [{ text: 'Hm.', thought: true }, gemini(undefined, 'ECHO', { text: 'a' })],
  })
  expect(thought.results).toMatchObject([{ index: 1, id: null }])
})

withPython('aliases and canonical names mean the same tool', async () => {
  const server = await withWeather()
  const { messages } = await dispatch(server, [
    chat('a', 'weather__get', { location: 'Bern' }),
    chat('b', 'weather:get', { location: 'Bern' }),
  ])
  expect(messages).toMatchObject([
    { content: 'Bern: cloudy for 1 day(s)' },
    { content: 'Bern: cloudy for 1 day(s)' },
  ])
})

withPython(
  'Gemini gets a value as a value, its calls need no id, and none of two calls is mixed up',
  async () => {
    const server = await withWeather()
    const { messages, results } = await dispatch(server, [
      gemini(undefined, 'weather:numbers', { values: [2] }),
      gemini(undefined, 'ECHO', { text: 'a' }),
      gemini(undefined, 'GET_TIME'),
    ])
    expect(messages).toMatchObject([
      {
        parts: [
          {
            functionResponse: {
              name: 'weather:numbers',
              response: { output: { min: 2, max: 2, values: [2] } },
            },
          },
          { functionResponse: { name: 'ECHO', response: { output: 'a' } } },
          { functionResponse: { name: 'GET_TIME', response: { output: { timeZone: 'UTC' } } } },
        ],
      },
    ])
    expect(results.map(({ id }) => id)).toEqual([null, null, null])
  },
)

withPython(
  'a number that JavaScript can not hold reaches a model of each vendor as the tool returned it',
  async () => {
    const server = await start()
    await uploaded(server, 'ledger', LEDGER)
    const exact = '{"id":9007199254740993}'
    for (const call of [chat, responses, anthropic, gemini, langchain, aiSdk]) {
      const { messages } = await dispatch(server, [call('c1', 'ledger__newest', {})])
      expect(JSON.stringify(messages)).toContain(JSON.stringify(exact))
    }
  },
)

test('a call of a tool that runs at the client comes back as it was sent, and gets no message', async () => {
  const server = await start()
  await put(server, 'ns:mine', tool('ns:mine'))
  const call = chat('c1', 'ns__mine', { text: 'a' })
  const { messages, results, pending } = await dispatch(server, [chat('c0', 'ECHO', { text: 'x' }), call])
  expect(messages).toEqual([{ role: 'tool', tool_call_id: 'c0', content: 'x' }])
  expect(pending).toEqual([
    { index: 1, id: 'c1', name: 'ns:mine', layer: 'user', kind: 'client', arguments: { text: 'a' }, call },
  ])
  expect(results[1]).toEqual({ index: 1, id: 'c1', name: 'ns__mine', result: null })
  for (const [make, none] of [
    [anthropic, []],
    [gemini, []],
    [langchain, []],
    [aiSdk, []],
  ] as const)
    expect((await dispatch(server, [make('c1', 'ns__mine', {})])).messages).toEqual(none)
})

test.each([
  ['{"text":"a"', /not valid JSON \(it ends too early\)/],
  ['{"text":"a"}}', /not valid JSON \(line 1, column 13\)/],
  ["{'text':'a'}", /not valid JSON \(line 1, column 2\)/],
  ['{"text":"a","text":"b"}', /same key twice.*\/text/],
  ['"text"', /must be a JSON object/],
  [`{"text":${'['.repeat(40)}${']'.repeat(40)}}`, /'text' is nested deeper/],
  ['{"text":"\\ud800"}', /^The argument 'text' holds a lone surrogate/],
  ['{"text":"a\ud800b"}', /^The arguments hold a lone surrogate/],
])('arguments that are %s are a result that the model can mend', async (text, error) => {
  const answer = await dispatch(await start(), [chat('c1', 'ECHO', text), chat('c2', 'ECHO', { text: 'b' })])
  expect(answer.results).toMatchObject([
    { result: { resultType: 'failure', code: 'ARGUMENTS_INVALID', error: expect.stringMatching(error) } },
    { result: { resultType: 'success' } },
  ])
})

test('arguments with a lone surrogate in a call of the Responses API are refused, and not changed', async () => {
  const call = { ...responses('c1', 'ECHO', {}), arguments: '{"text":"a\udc00b"}' }
  const { results } = await dispatch(await start(), [call])
  const error = expect.stringMatching(/^The arguments hold a lone surrogate/)
  expect(results).toMatchObject([{ result: { resultType: 'failure', code: 'ARGUMENTS_INVALID', error } }])
})

test('a text without arguments means that there are none', async () => {
  const { results } = await dispatch(await start(), [
    chat('c1', 'GET_TIME', ''),
    chat('c2', 'GET_TIME', '{}'),
  ])
  expect(results.map(({ result }) => result?.resultType)).toEqual(['success', 'success'])
})

test('arguments of 300 kB are too large for their call alone', async () => {
  const { results } = await dispatch(await start(), [
    chat('c1', 'ECHO', { text: 'x'.repeat(300_000) }),
    chat('c2', 'ECHO', { text: 'b' }),
  ])
  expect(results).toMatchObject([
    { result: { code: 'BODY_TOO_LARGE' } },
    { result: { resultType: 'success' } },
  ])
})

withPython('twenty calls at once are all run, each once, and answered in their order', async () => {
  const server = await withWeather()
  const places = Array.from({ length: 20 }, (_, index) => `place${index}`)
  const { messages } = await dispatch(
    server,
    places.map((location, index) => chat(`c${index}`, 'weather__get', { location })),
  )
  expect(messages).toEqual(
    places.map((location, index) => ({
      role: 'tool',
      tool_call_id: `c${index}`,
      content: `${location}: cloudy for 1 day(s)`,
    })),
  )
})

test.each<[string, unknown, RegExp]>([
  ['nothing', [], /holds no tool call/],
  ['only texts', [{ type: 'text', text: 'Hm.' }], /holds no tool call/],
  ['text', 'ECHO', /must be a list of tool calls/],
  ['an object without calls', { messages: [] }, /must be a list of tool calls/],
  ['empty lists', { output: [], content: [] }, /holds no tool call/],
  [
    'two lists',
    { output: [responses('a', 'ECHO', {})], parts: [gemini('b', 'ECHO')] },
    /must be a list of tool calls/,
  ],
  ['an item that is no object', [chat('a', 'ECHO', {}), 'ECHO'], /an item 1 that is not a JSON object/],
  [
    'a call of an unknown format beside one of a known format',
    [chat('a', 'ECHO', {}), { type: 'custom', id: 'b', custom: { name: 'ECHO', input: 'x' } }],
    /an item 1 that is not a tool call of a known format/,
  ],
  ['an item that is no call', [{ name: 'ECHO', arguments: {} }], /an item 0 that is not a tool call/],
  [
    'two formats',
    [chat('a', 'ECHO', {}), anthropic('b', 'ECHO', {})],
    /mixes formats: item 0 is a call of openai, item 1 one of anthropic/,
  ],
  [
    'one id twice',
    [chat('SECRET', 'ECHO', {}), chat('b', 'ECHO', {}), chat('SECRET', 'ECHO', {})],
    /two calls with one id: items 0 and 2/,
  ],
  ['one id twice for Gemini', [gemini('a', 'ECHO'), gemini('a', 'ECHO')], /two calls with one id/],
  ['no id', [{ ...chat('a', 'ECHO', {}), id: undefined }], /item 0 must have an id/],
  ['an empty id', [anthropic('', 'ECHO', {})], /item 0 must have an id/],
  ['no call_id', [{ ...responses('a', 'ECHO', {}), call_id: 1 }], /item 0 must have a call_id/],
  ['no name', [anthropic('a', undefined as unknown as string, {})], /item 0 must have a name/],
  [
    'arguments that are no text',
    [{ ...responses('a', 'ECHO', {}), arguments: {} }],
    /must have arguments, a JSON text/,
  ],
  [
    'too many calls',
    Array.from({ length: CALLS_MAX + 1 }, (_, index) => chat(`c${index}`, 'ECHO', {})),
    /holds 65 calls; send at most 64/,
  ],
])('%s is refused before anything is run', async (_title, body, message) => {
  const answer = await errorAnswer(await send(await start(), body))
  expect(answer).toMatchObject({
    httpStatus: 400,
    reason: 'CALLS_INVALID',
    message: expect.stringMatching(message),
  })
  expect(answer.message).not.toContain('SECRET')
})
