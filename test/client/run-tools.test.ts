import { expect, test } from '@jest/globals'
import { loadedTools, runTools, ToolDispatcher } from '../../packages/client/src/index.ts'
import type { RunToolsOptions } from '../../packages/client/src/index.ts'
import { calling, ChatServer, saying } from '../support/chat-server.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { chat } from './calls.ts'
import { listAnswer, listed } from './scripted-service.ts'

const dispatcher = new ToolDispatcher({
  runners: [
    { name: 'ADD', run: ({ a, b }) => Number(a) + Number(b) },
    {
      name: 'FAIL',
      run: () => {
        throw new Error('no')
      },
    },
  ],
})
const question = { role: 'user', content: 'What is 1 + 2?' }

function options(server: { readonly url: string }, more: Partial<RunToolsOptions> = {}): RunToolsOptions {
  const model = { url: server.url, name: 'a-model', apiKey: 'k', body: { temperature: 0 } }
  return { model, messages: [question], tools: [listed('ADD')], dispatcher, ...more }
}

test('the model is asked, its calls are run, and it is asked again with their results until it calls nothing more', async () => {
  const call = calling(chat('c1', 'ADD', { a: 1, b: 2 }), chat('c2', 'FAIL', {}), chat('c3', 'NOPE', {}))
  await using server = await ChatServer.start(call, saying('It is 3.'))
  const ran = await runTools(options(server))
  expect(ran).toEqual({
    text: 'It is 3.',
    steps: 2,
    end: 'answered',
    messages: [
      question,
      call,
      { role: 'tool', tool_call_id: 'c1', content: '3' },
      { role: 'tool', tool_call_id: 'c2', content: 'FAIL: Error: no' },
      { role: 'tool', tool_call_id: 'c3', content: 'Unsupported tool: NOPE' },
      saying('It is 3.'),
    ],
  })
  expect(server.requests[0]).toEqual({
    model: 'a-model',
    temperature: 0,
    messages: [question],
    tools: [listed('ADD')],
  })
  expect(server.requests[1]?.messages).toHaveLength(5)
  expect(server.authorizations).toEqual(['Bearer k', 'Bearer k'])
})

test('the function that lists the tools gets the conversation, in which the loaded tools are found', async () => {
  const load = chat('c1', 'load_tools', { names: ['ADD', 'FAIL'] })
  const again = chat('c2', 'load_tools', { names: ['FAIL', 'NOPE', 5] })
  const broken = chat('c3', 'load_tools', 'not JSON')
  await using server = await ChatServer.start(calling(load), calling(again, broken), saying('Done.'))
  const seen: (readonly object[])[] = []
  const loaded: (readonly string[])[] = []
  const tools = async (messages: readonly object[]) => {
    seen.push(messages)
    loaded.push(loadedTools(messages))
    return { tools: [listed('ADD')] }
  }
  const { messages } = await runTools(options(server, { tools }))
  expect(loaded).toEqual([[], ['ADD', 'FAIL'], ['ADD', 'FAIL', 'NOPE']])
  expect(seen.map((one) => one.length)).toEqual([1, 3, 6])
  expect(seen[2]).toEqual(messages.slice(0, 6))
})

test('the tools are listed anew before each step, and an empty list is not sent', async () => {
  await using server = await ChatServer.start(calling(chat('c', 'ADD', { a: 1, b: 1 })), saying('2'))
  let lists = 0
  const tools = async () => ({ tools: [listed('ADD')].slice(lists++) })
  await runTools(options(server, { tools }))
  expect(server.requests.map((request) => request.tools)).toEqual([[listed('ADD')], undefined])
})

test('a model that goes on and on is stopped at the step limit, with every call answered', async () => {
  await using server = await ChatServer.start(calling(chat('c', 'ADD', { a: 1, b: 1 })))
  const ran = await runTools(options(server, { stepsMax: 3 }))
  expect(ran).toMatchObject({ steps: 3, end: 'step-limit', text: '' })
  expect(ran.messages).toHaveLength(7)
  expect(ran.messages.at(-1)).toMatchObject({ role: 'tool' })
  await expect(runTools(options(server, { stepsMax: 0 }))).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})

test('the messages that were given are not changed', async () => {
  await using server = await ChatServer.start(saying('Hi.'))
  const messages = Object.freeze([question])
  expect(await runTools(options(server, { messages }))).toMatchObject({ steps: 1, end: 'answered' })
})

test.each([
  [
    'refuses',
    listAnswer({ error: { message: 'Bad key.' } }, { status: 401 }),
    /^The model answered 401: Bad key\.$/,
  ],
  ['answers HTML', listAnswer('<html>'), /answered 200: its answer is not a chat completion/],
  ['answers something else', listAnswer({ choices: [] }), /is its address right\?$/],
])('a model that %s is a clear error', async (_title, answer, message) => {
  await using server = await ScriptedServer.start()
  server.answers = [answer]
  await expect(runTools(options({ url: server.origin }))).rejects.toMatchObject({
    code: 'MODEL_FAILED',
    message: expect.stringMatching(message),
  })
})

test('a model that is not there is a clear error', async () => {
  await expect(runTools(options({ url: 'http://127.0.0.1:1' }))).rejects.toMatchObject({
    code: 'MODEL_FAILED',
    message: 'The model cannot be reached, or its answer broke off.',
  })
})

test('a caller who leaves ends the loop', async () => {
  await using server = await ScriptedServer.start()
  const leaving = new AbortController()
  server.answers = [() => leaving.abort(new Error('I have gone'))]
  const running = runTools(options({ url: server.origin }, { signal: leaving.signal }))
  await expect(running).rejects.toThrow('I have gone')
})
