import { expect, test } from '@jest/globals'
import { CALLS_MAX } from '@toolrack/contract'
import type { InvocationResult, ToolDefinition } from '@toolrack/contract'
import { absentRunner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { MESSAGES, SAID } from '../../../support/answered-messages.ts'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import { shippedTool } from '../../../support/shipped-tool.ts'

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

/** What the Python tools of this test return, as Python writes it. */
const RETURNED: Readonly<Record<string, string>> = {
  'weather:numbers': '{"min":2,"max":2,"values":[2]}',
  'ledger:newest': '{"id":9007199254740993}',
}

function python(name: string): ToolDefinition {
  return { ...tool(name), runner: { kind: 'python', module: 'm', sha256: 'a'.repeat(64) } }
}

const facts = {
  isolation: 'L2',
  usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 },
  log: { text: '', truncated: false },
} as const
const ask = await routeService(
  [
    shippedTool('echo'),
    shippedTool('time'),
    tool('ns:mine'),
    ...Object.keys(RETURNED).map((name) => python(name)),
  ],
  {
    runner: {
      ...absentRunner('It checks nothing.'),
      invoke: ({ tool: name }) => Promise.resolve({ json: RETURNED[name] ?? 'null', ...facts }),
    },
  },
)

function send(body: unknown) {
  return ask('ann', 'POST /tools/dispatch', { body: JSON.stringify(body) })
}

async function dispatch(body: unknown): Promise<Answer> {
  const answer = await send(body)
  expect([answer.status, answer.body]).toEqual([200, expect.anything()])
  return answer.body as unknown as Answer
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
    const calls = [
      make('c0', 'ECHO', { text: 'one' }),
      make('c1', 'NOPE', {}),
      make('c2', 'ECHO', { text: 'two' }),
    ]
    for (const body of [calls, { ...around, [wrapper]: calls }]) {
      const answer = await dispatch(body)
      expect(answer).toMatchObject({ format, messages: MESSAGES[format], pending: [] })
      expect(answer.results.map(({ id, name, result }) => [id, name, result?.textResultForLlm])).toEqual(
        SAID.map((said, index) => [`c${index}`, index === 1 ? 'NOPE' : 'ECHO', said]),
      )
    }
  },
)

test('the old function call of OpenAI is answered by the name of its function', async () => {
  const call = { name: 'ECHO', arguments: '{"text":"hi"}' }
  for (const body of [[call], { role: 'assistant', content: null, function_call: call }])
    expect(await dispatch(body)).toMatchObject({
      format: 'openai-functions',
      messages: [{ role: 'function', name: 'ECHO', content: 'hi' }],
      results: [{ index: 0, id: null, name: 'ECHO', result: { resultType: 'success' } }],
    })
})

test('null of a strict model that came through LangChain or the AI SDK means that the argument was omitted', async () => {
  for (const make of [langchain, aiSdk]) {
    const { results } = await dispatch([make('c', 'GET_TIME', { timeZone: null })])
    expect(results).toMatchObject([{ result: { resultType: 'success' } }])
  }
})

test('what a model says beside its calls is passed over', async () => {
  const said = await dispatch([
    { type: 'thinking', thinking: '…', signature: 's' },
    { type: 'text', text: 'Let me see.' },
    anthropic('c1', 'ECHO', { text: 'a' }),
  ])
  expect(said.results).toMatchObject([{ index: 2, id: 'c1' }])
  const reasoned = await dispatch({
    output: [{ type: 'reasoning', summary: [] }, responses('c1', 'ECHO', { text: 'a' })],
  })
  expect(reasoned.results).toMatchObject([{ index: 1, id: 'c1' }])
  const thought = await dispatch({
    parts: [{ text: 'Hm.', thought: true }, gemini(undefined, 'ECHO', { text: 'a' })],
  })
  expect(thought.results).toMatchObject([{ index: 1, id: null }])
})

test('Gemini gets a value as a value, its calls need no id, and none of two calls is mixed up', async () => {
  const { messages, results } = await dispatch([
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
})

test('a number that JavaScript can not hold reaches a model of each vendor as the tool returned it', async () => {
  const exact = '{"id":9007199254740993}'
  for (const call of [chat, responses, anthropic, gemini, langchain, aiSdk]) {
    const { messages } = await dispatch([call('c1', 'ledger__newest', {})])
    expect(JSON.stringify(messages)).toContain(JSON.stringify(exact))
  }
})

test('a call of a tool that runs at the client comes back as it was sent, and gets no message', async () => {
  const call = chat('c1', 'ns__mine', { text: 'a' })
  const { messages, results, pending } = await dispatch([chat('c0', 'ECHO', { text: 'x' }), call])
  expect(messages).toEqual([{ role: 'tool', tool_call_id: 'c0', content: 'x' }])
  expect(pending).toEqual([
    { index: 1, id: 'c1', name: 'ns:mine', layer: 'file', kind: 'client', arguments: { text: 'a' }, call },
  ])
  expect(results[1]).toEqual({ index: 1, id: 'c1', name: 'ns__mine', result: null })
  for (const [make, none] of [
    [anthropic, []],
    [gemini, []],
    [langchain, []],
    [aiSdk, []],
  ] as const)
    expect((await dispatch([make('c1', 'ns__mine', {})])).messages).toEqual(none)
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
  const answer = await dispatch([chat('c1', 'ECHO', text), chat('c2', 'ECHO', { text: 'b' })])
  expect(answer.results).toMatchObject([
    { result: { resultType: 'failure', code: 'ARGUMENTS_INVALID', error: expect.stringMatching(error) } },
    { result: { resultType: 'success' } },
  ])
})

test('arguments with a lone surrogate in a call of the Responses API are refused, and not changed', async () => {
  const call = { ...responses('c1', 'ECHO', {}), arguments: '{"text":"a\udc00b"}' }
  const { results } = await dispatch([call])
  const error = expect.stringMatching(/^The arguments hold a lone surrogate/)
  expect(results).toMatchObject([{ result: { resultType: 'failure', code: 'ARGUMENTS_INVALID', error } }])
})

test('a text without arguments means that there are none', async () => {
  const { results } = await dispatch([chat('c1', 'GET_TIME', ''), chat('c2', 'GET_TIME', '{}')])
  expect(results.map(({ result }) => result?.resultType)).toEqual(['success', 'success'])
})

test('arguments of 300 kB are too large for their call alone', async () => {
  const { results } = await dispatch([
    chat('c1', 'ECHO', { text: 'x'.repeat(300_000) }),
    chat('c2', 'ECHO', { text: 'b' }),
  ])
  expect(results).toMatchObject([
    { result: { code: 'BODY_TOO_LARGE' } },
    { result: { resultType: 'success' } },
  ])
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
  const answer = await send(body)
  expect(answer).toMatchObject({
    status: 400,
    code: 'CALLS_INVALID',
    body: { error: { message: expect.stringMatching(message) } },
  })
  expect(JSON.stringify(answer.body)).not.toContain('SECRET')
})
