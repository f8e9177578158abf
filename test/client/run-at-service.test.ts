import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import type { ToolDispatcherOptions } from '../../packages/client/src/index.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { aiSdk, anthropic, chat, gemini, langchain } from './calls.ts'
import { listAnswer, refusal, silence } from './scripted-service.ts'

let server: ScriptedServer
type Sent = {
  readonly id: string
  readonly function?: { readonly name: string; readonly arguments: string }
  readonly name?: string
  readonly input?: unknown
}
let bodies: Sent[][]
beforeEach(async () => {
  server = await ScriptedServer.start()
  bodies = []
})
afterEach(() => server[Symbol.asyncDispose]())

function dispatcher(options: ToolDispatcherOptions = {}): ToolDispatcher {
  return new ToolDispatcher({ service: server.origin, token: 't', ...options })
}

/** Answers as the service does; a tool whose name starts with CLIENT is left to the client. */
const service: RequestListener = (req, res) => {
  let text = ''
  req.on('data', (chunk) => (text += String(chunk)))
  req.on('end', () => {
    const calls = JSON.parse(text) as (typeof bodies)[number]
    bodies.push(calls)
    const results = calls.map((call, index) => {
      const { name, args } = read(call)
      const result = isLeft(name)
        ? null
        : { resultType: 'success', textResultForLlm: `${name} ${args}`, meta: {} }
      return { index, id: call.id, name, result }
    })
    const pending = calls.flatMap((call, index) => {
      const { name } = read(call)
      return isLeft(name) ? [{ index, id: call.id, name: name.replace('__', ':'), call }] : []
    })
    res.end(JSON.stringify({ format: 'openai', messages: [], results, pending }))
  })
}

/** Of a call whose arguments are a text, or an object. */
function read({ function: called, name = '', input }: Sent): {
  readonly name: string
  readonly args: string
} {
  return called ? { name: called.name, args: called.arguments } : { name, args: JSON.stringify(input) }
}

function isLeft(name: string): boolean {
  return name.startsWith('CLIENT')
}

async function texts(made: ToolDispatcher, calls: object): Promise<string[]> {
  return (await made.dispatch(calls)).results.map(({ result }) => result.textResultForLlm)
}

function renewed({ refused }: { readonly refused: boolean }): string {
  return refused ? 'new' : 'old'
}

test('what has a Runner runs here, the rest at the service, and the answers are in the order of the calls', async () => {
  server.answers = [service]
  const made = dispatcher({ runners: [{ name: 'HERE', run: () => 'here' }], route: 'jobs' })
  const { messages } = await made.dispatch([
    anthropic('a', 'THERE', { n: 1 }),
    anthropic('b', 'HERE', {}),
    anthropic('c', 'THERE', { n: 2 }),
  ])
  expect(messages).toMatchObject([
    {
      content: [
        { tool_use_id: 'a', content: 'THERE {"n":1}' },
        { tool_use_id: 'b', content: 'here' },
        { tool_use_id: 'c', content: 'THERE {"n":2}' },
      ],
    },
  ])
  expect(server.asked).toHaveLength(1)
  expect(server.asked[0]).toMatchObject({
    method: 'POST',
    url: '/jobs/tools/dispatch?images=0',
    headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
  })
})

test('where everything has a Runner the service is not asked', async () => {
  const made = dispatcher({ runners: [{ name: 'HERE', run: () => 'here' }] })
  expect(await texts(made, [chat('a', 'HERE', {})])).toEqual(['here'])
  expect(server.asked).toEqual([])
})

test('calls that the service hands back run here, by the canonical name', async () => {
  server.answers = [service]
  const runners = [{ name: 'CLIENT:one', run: () => 'ran one' }]
  const made = dispatcher({ runners })
  const calls = [chat('a', 'CLIENT__one', {}), chat('b', 'CLIENT__two', {}), chat('c', 'THERE', {})]
  expect(await texts(made, calls)).toEqual(['ran one', 'Unsupported tool: CLIENT__two', 'THERE {}'])
})

test('a tool that the service knows by a name that is unknown here is run here when it is handed back', async () => {
  server.answers = [
    listAnswer({ results: [{ result: null }], pending: [{ index: 0, id: 'call_0', name: 'LONG' }] }),
  ]
  const made = dispatcher({ runners: [{ name: 'LONG', run: ({ a }) => `ran with ${Number(a)}` }] })
  expect(await texts(made, [chat('x', 'another_spelling', { a: 1 })])).toEqual(['ran with 1'])
})

test('calls without an id, and broken arguments, are sent as they are, under ids of our own', async () => {
  server.answers = [service]
  const { messages } = await dispatcher().dispatch([
    gemini(undefined, 'A', { n: 1 }),
    gemini(undefined, 'A', {}),
  ])
  expect(messages).toMatchObject([
    { parts: [{ functionResponse: { response: { output: 'A {"n":1}' } } }, { functionResponse: {} }] },
  ])
  expect(await texts(dispatcher(), [chat('c', 'A', '{"broken"')])).toEqual(['A {"broken"'])
  expect(bodies.map((calls) => calls.map(({ id }) => id))).toEqual([['call_0', 'call_1'], ['call_0']])
})

test('a hundred calls go in requests that the service takes, and a megabyte of them too', async () => {
  server.answers = [service]
  const calls = Array.from({ length: 100 }, (_, index) => chat(`c${index}`, 'A', { index }))
  expect(await texts(dispatcher(), calls)).toEqual(calls.map((_, index) => `A {"index":${index}}`))
  expect(bodies.map(({ length }) => length).toSorted()).toEqual([36, 64])
  bodies = []
  const large = Array.from({ length: 5 }, (_, index) => chat(`c${index}`, 'A', { text: 'ä'.repeat(125_000) }))
  await dispatcher().dispatch(large)
  expect(bodies.map(({ length }) => length).toSorted()).toEqual([2, 3])
})

test('a token that has run out is asked for again, and nothing was run twice', async () => {
  server.answers = [refusal(401, 'TOKEN_INVALID', 'A valid token is needed.'), service]
  expect(await texts(dispatcher({ token: renewed }), [chat('a', 'A', {})])).toEqual(['A {}'])
  expect(bodies).toHaveLength(1)
})

test.each<[string, RequestListener, string, RegExp]>([
  ['breaks the connection', (req) => req.socket.destroy(), 'WORKER_DIED', /The tool may have run\.$/],
  ['never answers', silence, 'DEADLINE_EXCEEDED', /within 2000 ms\. The tool may have run\.$/],
  ['answers 500', listAnswer('', { status: 500 }), 'WORKER_DIED', /may have run/],
  ['answers 429', listAnswer('', { status: 429 }), 'RUNNER_BUSY', /Nothing was run\.$/],
  [
    'answers HTML',
    listAnswer('<html>'),
    'WORKER_DIED',
    /did not come from the service\. The tool may have run\.$/,
  ],
  [
    'answers fewer results',
    listAnswer({ results: [], pending: [] }),
    'WORKER_DIED',
    /did not come from the service/,
  ],
  ['refuses the body', refusal(400, 'BODY_INVALID', 'No.'), 'BODY_INVALID', /No\.$/],
  [
    'finds the body too large',
    listAnswer('', { status: 413 }),
    'BODY_TOO_LARGE',
    /refused the request \(413\)/,
  ],
])(
  'a service that %s is a failure of its calls, sent once, and what ran here keeps its result',
  async (_t, fault, code, error) => {
    server.answers = [fault]
    const made = dispatcher({ runners: [{ name: 'HERE', run: () => 'here' }], deadlineMs: 2_000 })
    const { results } = await made.dispatch([chat('a', 'A', {}), chat('b', 'HERE', {})])
    expect(results).toMatchObject([
      { result: { resultType: 'failure', code, error: expect.stringMatching(error) } },
      { result: { resultType: 'success' } },
    ])
    expect(server.asked).toHaveLength(1)
  },
)

test('calls that came through LangChain or the AI SDK are sent so that null means an omitted argument', async () => {
  server.answers = [service]
  expect(await texts(dispatcher(), [langchain('a', 'A', { n: null })])).toEqual(['A {"n":null}'])
  expect(await texts(dispatcher(), [aiSdk('a', 'A', { n: null })])).toEqual(['A {"n":null}'])
  const sent = { type: 'function', function: { name: 'A', arguments: '{"n":null}' } }
  expect(bodies).toMatchObject([[sent], [sent]])
})

test('a caller who leaves gets the reason, and the request ends', async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const leaving = new AbortController()
  server.answers = [
    (req) => {
      req.on('close', () => close())
      leaving.abort(new Error('I have gone'))
    },
  ]
  await expect(dispatcher().dispatch([chat('a', 'A', {})], leaving)).rejects.toThrow('I have gone')
  await closed
})

test('a service without a token is refused when it is made', () => {
  expect(() => new ToolDispatcher({ service: server.origin })).toThrow(/token is needed with service/)
})
