import { expect, test } from '@jest/globals'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import type { Runner } from '../../packages/client/src/index.ts'
import { aiSdk, anthropic, functionCall, gemini, langchain, responses } from './calls.ts'

const echo: Runner = { name: 'ECHO', run: ({ text }) => text }

test('the old function call of OpenAI is answered by the name of its function', async () => {
  const dispatcher = new ToolDispatcher({ runners: [echo] })
  const call = functionCall('ECHO', { text: 'hi' })
  for (const answer of [[call], { role: 'assistant', content: null, function_call: call, tool_calls: null }])
    expect(await dispatcher.dispatch(answer)).toEqual({
      format: 'openai-functions',
      messages: [{ role: 'function', name: 'ECHO', content: 'hi' }],
      results: [
        { index: 0, id: null, name: 'ECHO', result: { resultType: 'success', textResultForLlm: 'hi' } },
      ],
      pending: [],
    })
})

test.each([
  ['LangChain', langchain('c', 'T', { a: null })],
  ['the AI SDK', aiSdk('c', 'T', { a: null })],
  ['the old function call', functionCall('T', { a: null })],
])('null of a strict model that came through %s is left out too', async (_title, call) => {
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const definition = { function: { name: 'T', description: '', parameters } }
  const strict: Runner = { name: 'T', definition, run: (args) => args }
  const { results } = await new ToolDispatcher({ runners: [strict] }).dispatch([call])
  expect(results).toMatchObject([{ result: { textResultForLlm: '{}' } }])
})

test('arguments that LangChain or the AI SDK could not parse are a failure that the model can mend', async () => {
  const dispatcher = new ToolDispatcher({ runners: [echo] })
  const broken = {
    ...langchain('c', 'ECHO', '{"text"'),
    type: 'invalid_tool_call',
    error: 'Malformed args.',
  }
  for (const answer of [
    { content: '', tool_calls: [], invalid_tool_calls: [broken] },
    { role: 'assistant', content: [aiSdk('c', 'ECHO', '{"text"')] },
  ])
    expect((await dispatcher.dispatch(answer)).results).toMatchObject([
      { result: { resultType: 'failure', code: 'ARGUMENTS_INVALID' } },
    ])
})

test('a call that LangChain could not parse is answered beside the calls that it could parse', async () => {
  let ran = 0
  const dispatcher = new ToolDispatcher({ runners: [{ name: 'T', run: () => (ran += 1) }] })
  const broken = { ...langchain('b', 'T', '{"n"'), type: 'invalid_tool_call', error: 'Malformed args.' }
  // `content` has the same calls, as Anthropic's model wrote them.
  const content = [anthropic('a', 'T', {}), anthropic('b', 'T', {})]
  const answer = { content, tool_calls: [langchain('a', 'T', {})], invalid_tool_calls: [broken] }
  const { format, messages, results } = await dispatcher.dispatch(answer)
  expect([format, ran]).toEqual(['langchain', 1])
  expect(messages).toMatchObject([{ tool_call_id: 'a', content: '1' }, { tool_call_id: 'b' }])
  expect(results).toMatchObject([
    { index: 0, id: 'a', result: { resultType: 'success' } },
    { index: 1, id: 'b', result: { resultType: 'failure', code: 'ARGUMENTS_INVALID' } },
  ])
  const { results: onlyBroken } = await dispatcher.dispatch({ ...answer, tool_calls: [] })
  expect(onlyBroken).toMatchObject([{ index: 0, id: 'b', result: { code: 'ARGUMENTS_INVALID' } }])
})

test('the content of a message with tool_calls is not read, because LangChain writes the same calls there', async () => {
  let ran = 0
  const dispatcher = new ToolDispatcher({ runners: [{ name: 'T', run: () => (ran += 1) }] })
  const answer = { content: [anthropic('a', 'T', {})], tool_calls: [langchain('a', 'T', {})] }
  expect(await dispatcher.dispatch(answer)).toMatchObject({ format: 'langchain', results: [{ id: 'a' }] })
  expect(ran).toBe(1)
})

test.each<[string, object]>([
  [
    'a message of LangChain',
    { content: [{ type: 'text', text: 'Hi.' }], tool_calls: [], invalid_tool_calls: [] },
  ],
  ['a message of LangGraph', { type: 'ai', content: 'Hi.' }],
  [
    'an answer of the Responses API that repeats its tools',
    { output: [], tools: [{ type: 'function', name: 'T', parameters: {}, strict: false }] },
  ],
  ['an old message', { role: 'assistant', content: 'Hi.', function_call: null }],
  [
    'calls that the vendor runs itself',
    {
      content: [
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'a' } },
        { type: 'mcp_tool_use', id: 'm', name: 'T', server_name: 'S', input: {} },
        { type: 'mcp_call', id: 'm', name: 'T', server_label: 'S', arguments: '{}', output: null },
        { type: 'web_search_call', id: 'w', action: { type: 'search', query: 'a' } },
        { type: 'shell_call', call_id: 'h', action: {}, environment: { type: 'container_reference' } },
        { type: 'program', call_id: 'p', code: 'f()' },
        { type: 'apply_patch_call_output', call_id: 'o', status: 'completed' },
        { type: 'tool-invocation', result: 1, toolInvocation: { toolName: 'T', args: {} } },
        { type: 'server_tool_call', id: 's', name: 'T', args: {} },
        { ...aiSdk('a', 'T', {}), providerExecuted: true },
        { type: 'tool-result', toolCallId: 'a', toolName: 'T', input: {}, output: 1 },
      ],
    },
  ],
])('%s has no calls for us, and nothing is to be appended', async (_title, answer) => {
  const dispatched = await new ToolDispatcher({}).dispatch(answer)
  expect(dispatched).toEqual({ format: null, messages: [], results: [], pending: [] })
})

test.each<[string, object, RegExp]>([
  [
    'two lists',
    { output: [responses('a', 'T', {})], parts: [gemini('b', 'T', {})] },
    /an object with one of/,
  ],
  [
    'a custom tool of OpenAI',
    [{ type: 'custom', id: 'c', custom: { name: 'T', input: 'x' } }],
    /item 0 that is not a tool call of a known format \(openai, .*, langchain, ai-sdk, openai-functions\)\.$/,
  ],
  [
    'a custom tool of the Responses API, beside a call',
    {
      output: [responses('a', 'T', {}), { type: 'custom_tool_call', call_id: 'b', name: 'T', input: 'x' }],
    },
    /item 1 that is not a tool call of a known format/,
  ],
  ...[
    { type: 'shell_call', action: { commands: ['ls'] }, environment: { type: 'local' } },
    { type: 'local_shell_call', action: { type: 'exec', command: ['ls'] } },
    { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } },
    { type: 'computer_call', action: { type: 'screenshot' }, pending_safety_checks: [] },
  ].map((item): [string, object, RegExp] => [
    `a ${item.type} beside a call`,
    { output: [responses('a', 'T', {}), { id: 'i', call_id: 'b', status: 'completed', ...item }] },
    /item 1 that is not a tool call of a known format/,
  ]),
  [
    'a call of version 4 of the AI SDK',
    [
      {
        type: 'tool-invocation',
        toolInvocation: { state: 'call', toolCallId: 'a', toolName: 'T', args: {} },
      },
    ],
    /item 0 that is not a tool call of a known format/,
  ],
  [
    'a part of a chat of the AI SDK',
    {
      role: 'assistant',
      parts: [{ type: 'tool-T', toolCallId: 'a', state: 'input-available', input: {} }],
    },
    /item 0 that is not a tool call of a known format/,
  ],
  [
    'calls under a key that no vendor of ours uses',
    { role: 'assistant', content: '', toolCalls: [{ id: 'a', type: 'call', name: 'T', arguments: {} }] },
    /has a tool call, but not in one of tool_calls, output, content, parts and function_call/,
  ],
])('%s is refused before anything is run', async (_title, answer, message) => {
  let ran = 0
  const dispatcher = new ToolDispatcher({ runners: [{ name: 'T', run: () => (ran += 1) }] })
  await expect(dispatcher.dispatch(answer)).rejects.toMatchObject({
    code: 'CALLS_INVALID',
    message: expect.stringMatching(message),
  })
  expect(ran).toBe(0)
})
