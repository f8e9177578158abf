import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { runTools, ToolDispatcher } from '../../packages/client/src/index.ts'
import type { ReportedResult, Runner, ToolResult } from '../../packages/client/src/index.ts'
import { MESSAGES, SAID } from '../support/answered-messages.ts'
import { calling, ChatServer, saying } from '../support/chat-server.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { anthropic, chat, gemini, responses } from './calls.ts'

let server: ScriptedServer
beforeEach(async () => {
  server = await ScriptedServer.start()
  server.answers = [service]
})
afterEach(() => server[Symbol.asyncDispose]())

type Sent = { readonly function?: { readonly name: string }; readonly name?: string }

/** Answers as the service does: ECHO runs there, a tool whose name starts with FLOW is a workflow. */
const service: RequestListener = (req, res) => {
  let text = ''
  req.on('data', (chunk) => (text += String(chunk)))
  req.on('end', () => {
    const calls = (JSON.parse(text) as readonly Sent[]).map((call, index) => {
      const name = call.function?.name ?? call.name ?? ''
      return { call, index, name, isFlow: name.startsWith('FLOW') }
    })
    const results = calls.map(({ index, name, isFlow }) => {
      const result: ToolResult = { resultType: 'success', textResultForLlm: `${name} at the service` }
      return { index, id: null, name, result: isFlow ? null : result }
    })
    const pending = calls
      .filter(({ isFlow }) => isFlow)
      .map(({ call, index, name }) => ({
        index,
        id: 'own',
        name: name.replace('__', ':'),
        layer: 'user',
        kind: 'workflow',
        workflowName: `flows-${name}`,
        arguments: { n: index },
        call,
      }))
    res.end(JSON.stringify({ format: 'openai', messages: [], results, pending }))
  })
}

function dispatcher(...runners: readonly Runner[]): ToolDispatcher {
  return new ToolDispatcher({ service: server.origin, token: 't', runners })
}

const here: Runner = { name: 'HERE', run: () => 'ran here' }
const text = { type: 'text', text: 'Let me see.' }
const calls = [
  anthropic('a', 'HERE', {}),
  text,
  anthropic('b', 'FLOW__one', { n: 1 }),
  anthropic('c', 'ECHO', {}),
  anthropic('d', 'FLOW_two', {}),
]

test('the call of a workflow is given to the caller, and is no failure for the model', async () => {
  const answer = { role: 'assistant', content: calls }
  const { format, messages, results, pending } = await dispatcher(here).dispatch(answer)
  expect(format).toBe('anthropic')
  expect(pending).toEqual([
    {
      index: 2,
      id: 'b',
      name: 'FLOW:one',
      layer: 'user',
      kind: 'workflow',
      workflowName: 'flows-FLOW__one',
      arguments: { n: 0 },
      call: calls[2],
    },
    {
      index: 4,
      id: 'd',
      name: 'FLOW_two',
      layer: 'user',
      kind: 'workflow',
      workflowName: 'flows-FLOW_two',
      arguments: { n: 2 },
      call: calls[4],
    },
  ])
  expect(results).toEqual([
    { index: 0, id: 'a', name: 'HERE', result: { resultType: 'success', textResultForLlm: 'ran here' } },
    {
      index: 3,
      id: 'c',
      name: 'ECHO',
      result: { resultType: 'success', textResultForLlm: 'ECHO at the service' },
    },
  ])
  expect(messages).toMatchObject([{ content: [{ tool_use_id: 'a' }, { tool_use_id: 'c' }] }])
})

test('a Runner with the name of the tool runs the call of a workflow', async () => {
  const flow: Runner = { name: 'FLOW:one', run: ({ n }) => `flow ${n as number}` }
  const { results, pending } = await dispatcher(flow).dispatch([calls[2] ?? {}])
  expect(pending).toEqual([])
  expect(results).toMatchObject([{ name: 'FLOW__one', result: { textResultForLlm: 'flow 1' } }])
})

test('complete answers the calls that ran and those that were pending, in their order, also after a restart', async () => {
  const answer = { role: 'assistant', content: calls }
  const { results, pending } = await dispatcher(here).dispatch(answer)
  const kept = JSON.parse(JSON.stringify({ answer, results, pending })) as {
    answer: object
    results: typeof results
    pending: typeof pending
  }
  const reported = kept.pending.map(({ index, workflowName }) => ({ index, result: `ran ${workflowName}` }))
  expect(new ToolDispatcher({}).complete(kept.answer, [...reported, ...kept.results])).toEqual({
    format: 'anthropic',
    messages: [
      {
        role: 'user',
        content: [
          ['a', 'ran here'],
          ['b', 'ran flows-FLOW__one'],
          ['c', 'ECHO at the service'],
          ['d', 'ran flows-FLOW_two'],
        ].map(([id, content]) => ({ type: 'tool_result', tool_use_id: id, content })),
      },
    ],
  })
})

test.each([
  ['openai', chat],
  ['openai-responses', responses],
  ['anthropic', anthropic],
  ['gemini', gemini],
] as const)('%s: each kind of result is written in the shape that the vendor wants', (format, make) => {
  const results: { index: number; result: ReportedResult }[] = [
    { index: 2, result: { encoded: SAID[2], cost: 1 } },
    {
      index: 1,
      result: { resultType: 'failure', textResultForLlm: SAID[1], error: SAID[1], code: 'TOOL_NOT_FOUND' },
    },
    { index: 0, result: SAID[0] },
  ]
  const answer = ['ECHO', 'NOPE', 'ECHO'].map((name, index) => make(`c${index}`, name, {}))
  expect(new ToolDispatcher({}).complete(answer, results)).toEqual({ format, messages: MESSAGES[format] })
})

test('calls that dispatch answers with a failure, because they cannot be run, are completed too', async () => {
  const answer = [chat('a', 'FLOW', {}), { type: 'function', id: 'b', function: {} }, chat('a', 'HERE', {})]
  const made = dispatcher(here)
  const { messages, results, pending } = await made.dispatch(answer)
  expect(pending).toEqual([])
  expect(made.complete(answer, results).messages).toEqual(messages)
})

test('an answer without calls is completed without results', () => {
  const answer = { role: 'assistant', content: 'Hello.' }
  expect(new ToolDispatcher({}).complete(answer, [])).toEqual({ format: null, messages: [] })
})

test('null is the place of a pending call in the answer of the service, so it may stand beside the result', () => {
  const results = JSON.parse('[{"index":0,"id":"a","result":null},{"index":0,"result":"ran"}]') as []
  const { messages } = new ToolDispatcher({}).complete([chat('a', 'FLOW', {})], results)
  expect(messages).toEqual([{ role: 'tool', tool_call_id: 'a', content: 'ran' }])
})

const one = { index: 0, result: 'a' }
test.each<[string, readonly { index: number; result: ReportedResult }[], RegExp]>([
  ['too few', [one], /^The list of results has no result for the call with the index 1\.$/],
  ['two for one call', [one, one], /has two results for the call with the index 0\.$/],
  ['one for no call', [one, { index: 7, result: 'a' }], /has an item 1 without the index of a call\.$/],
  [
    'only null',
    [{ index: 0, result: null as unknown as string }],
    /has no result for the call with the index 0/,
  ],
])('results that are %s are an error of the caller', (_title, results, message) => {
  const complete = (): unknown =>
    new ToolDispatcher({}).complete([chat('a', 'A', {}), chat('b', 'B', {})], results)
  expect(complete).toThrow(message)
  expect(complete).toThrow(expect.objectContaining({ code: 'CALLS_INVALID' }))
})

test('the tool loop ends with the pending calls, and continues with their messages', async () => {
  const asked = calling(chat('c1', 'FLOW', {}), chat('c2', 'ECHO', {}))
  await using chatServer = await ChatServer.start(asked, saying('Done.'))
  const made = dispatcher()
  const model = { url: chatServer.url, name: 'm' }
  const question = { role: 'user', content: 'Do it.' }
  const { messages, dispatched, ...rest } = await runTools({
    model,
    messages: [question],
    tools: [],
    dispatcher: made,
  })
  expect(rest).toEqual({ text: '', steps: 1, end: 'pending' })
  expect(messages).toEqual([question, asked])
  expect(dispatched?.pending).toMatchObject([{ index: 0, id: 'c1', workflowName: 'flows-FLOW' }])
  const results = [...(dispatched?.results ?? []), { index: 0, result: 'flowed' }]
  const answers = made.complete(messages.at(-1) ?? {}, results)
  const ran = await runTools({
    model,
    messages: [...messages, ...answers.messages],
    tools: [],
    dispatcher: made,
  })
  expect(ran).toMatchObject({ text: 'Done.', end: 'answered' })
  expect(chatServer.requests[1]?.messages).toEqual([
    question,
    asked,
    { role: 'tool', tool_call_id: 'c1', content: 'flowed' },
    { role: 'tool', tool_call_id: 'c2', content: 'ECHO at the service' },
  ])
})
