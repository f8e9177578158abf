import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import type { CallEvent, ToolDispatcherOptions } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { listAnswer, refusal, silence } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

function dispatcher(options: ToolDispatcherOptions = {}): ToolDispatcher {
  return new ToolDispatcher({ service: server.origin, token: 't', ...options })
}

const RESULT = { resultType: 'success', textResultForLlm: 'done', meta: {} }
const STREAM = [
  'event: start\ndata: {"invocationId":"i1"}\n\n',
  'event: log\ndata: {"text":"größer\\n"}\n\n',
  ': the call runs\n\n',
  'event: progress\ndata: {"fraction":0.5,"text":"half"}\n\n',
  'event: tick\ndata: {}\n\n',
  'event: value\ndata: {"value":[1]}\n\n',
  `event: result\ndata: ${JSON.stringify(RESULT)}\n\n`,
].join('')
const EVENTS: readonly CallEvent[] = [
  { type: 'start', invocationId: 'i1' },
  { type: 'log', text: 'größer\n' },
  { type: 'progress', fraction: 0.5, text: 'half' },
  { type: 'value', value: [1] },
  { type: 'result', result: RESULT as never },
]

/** An answer with events in these pieces. The connection stays open if `end` is false. */
function streaming(pieces: readonly (string | Uint8Array)[], end = true): RequestListener {
  return (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    const write = ([piece, ...rest]: typeof pieces): void => {
      if (piece !== undefined) res.write(piece, () => setImmediate(write, rest))
      else if (end) res.end()
    }
    write(pieces)
  }
}

/** An answer that begins with an event and breaks off. */
const breaking: RequestListener = (_req, res) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write('event: log\ndata: {"text":"a"}\n\n', () => res.destroy())
}

async function all(events: AsyncIterable<CallEvent>): Promise<readonly CallEvent[]> {
  const seen: CallEvent[] = []
  for await (const event of events) seen.push(event)
  return seen
}

const failed = (code: string, textResultForLlm: string) =>
  expect.objectContaining({ resultType: 'failure', code, textResultForLlm }) as unknown

test('the events are those of the service in their order, however they are cut', async () => {
  const bytes = Buffer.from(STREAM)
  for (const size of [1, 5, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    )
    server.answers = [streaming(pieces)]
    expect(await all(dispatcher().stream('T', { n: 1 }))).toEqual(EVENTS)
  }
  server.answers = [streaming([STREAM.replaceAll('\n', '\r\n')])]
  expect(await all(dispatcher().stream('T'))).toEqual(EVENTS)
})

test('invoke asks for events only if somebody hears them, and returns the result', async () => {
  const bodies: unknown[] = []
  const keep =
    (answer: RequestListener): RequestListener =>
    (req, res) => {
      let body = ''
      req.on('data', (part) => (body += String(part)))
      req.on('end', () => {
        bodies.push([req.url, req.headers.accept, JSON.parse(body)])
        answer(req, res)
      })
    }
  server.answers = [keep(json(RESULT)), keep(streaming([STREAM]))]
  const made = dispatcher({ route: 'jobs' })
  expect(await made.invoke('T', { n: 1 }, { context: { a: 1 } })).toEqual(RESULT)
  const heard: unknown[] = []
  const onLog = (text: string): void => void heard.push(text)
  const onProgress = (...progress: [number, string]): void => void heard.push(progress)
  expect(await made.invoke('T', {}, { onLog, onProgress })).toEqual(RESULT)
  expect(heard).toEqual(['größer\n', [0.5, 'half']])
  expect(bodies).toEqual([
    ['/jobs/tools/invoke', 'application/json;q=0.9', { name: 'T', arguments: { n: 1 }, context: { a: 1 } }],
    ['/jobs/tools/invoke', 'text/event-stream, application/json;q=0.9', { name: 'T', arguments: {} }],
  ])
})

test('a service that does not stream answers with the result, which is the only event', async () => {
  server.answers = [json(RESULT)]
  expect(await all(dispatcher().stream('T'))).toEqual([{ type: 'result', result: RESULT }])
})

test('a refused call is the result that the service wrote, whatever its status', async () => {
  const refused = {
    resultType: 'failure',
    error: 'Unsupported tool: T',
    textResultForLlm: "Unsupported tool: T. Did you mean 'U'?",
    code: 'TOOL_NOT_FOUND',
    meta: {},
  }
  for (const status of [400, 404, 429, 503]) {
    server.answers = [json(refused, status)]
    expect(await dispatcher().invoke('T')).toEqual(refused)
  }
})

test('a refused token is thrown, because no model can correct it', async () => {
  server.answers = [refusal(401, 'TOKEN_INVALID', 'No.')]
  await expect(dispatcher().invoke('T')).rejects.toMatchObject({
    code: 'SERVICE_REFUSED',
    status: 401,
  })
})

test('a stream that breaks off says that the tool may have run', async () => {
  server.answers = [breaking]
  expect(await all(dispatcher().stream('T'))).toEqual([
    { type: 'log', text: 'a' },
    {
      type: 'result',
      result: failed(
        'WORKER_DIED',
        'The service cannot be reached, or its answer broke off. The tool may have run.',
      ),
    },
  ])
  server.answers = [streaming(['event: log\ndata: {"text":"a"}\n\nevent: result\ndata: {"resu'])]
  expect((await all(dispatcher().stream('T'))).at(-1)).toEqual({
    type: 'result',
    result: failed('WORKER_DIED', 'The answer of the service broke off. The tool may have run.'),
  })
})

test('a service that is not there says that the tool has not run', async () => {
  const gone = await ScriptedServer.start()
  const { origin } = gone
  await gone[Symbol.asyncDispose]()
  expect(await dispatcher({ service: origin }).invoke('T', {}, { onLog: () => undefined })).toEqual(
    failed('RUNNER_UNAVAILABLE', 'The service cannot be reached. The tool has not run.'),
  )
})

test('at the deadline the request is broken off, also in the middle of a stream', async () => {
  for (const answer of [silence, streaming(['event: log\ndata: {"text":"a"}\n\n'], false)]) {
    server.answers = [answer]
    const events = await all(dispatcher({ deadlineMs: 100 }).stream('T'))
    expect(events.at(-1)).toEqual({
      type: 'result',
      result: failed('DEADLINE_EXCEEDED', 'The service did not answer within 100 ms. The tool may have run.'),
    })
  }
})

test.each<readonly [string, (made: ToolDispatcher) => Promise<unknown>]>([
  [
    'who leaves the iterator',
    async (made) => {
      for await (const event of made.stream('T')) if (event.type === 'log') break
    },
  ],
  [
    'whose callback throws',
    (made) =>
      made
        .invoke('T', {}, { onLog: () => void JSON.parse('{') })
        .catch((error: Error) => expect(error).toBeInstanceOf(SyntaxError)),
  ],
  [
    'who aborts',
    async (made) => {
      const caller = new AbortController()
      const onLog = (): void => caller.abort(new Error('enough'))
      await expect(made.invoke('T', {}, { onLog, signal: caller.signal })).rejects.toThrow('enough')
    },
  ],
])('the request of a caller %s is broken off', async (_title, leave) => {
  const closed = Promise.withResolvers<void>()
  server.answers = [
    (req, res) => {
      void once(res, 'close').then(() => closed.resolve())
      streaming(['event: log\ndata: {"text":"a"}\n\n'], false)(req, res)
    },
  ]
  await leave(dispatcher())
  await closed.promise
})

test('a signal that is aborted before calls nothing', async () => {
  const signal = AbortSignal.abort(new Error('before'))
  await expect(dispatcher().invoke('T', {}, { signal })).rejects.toThrow('before')
  expect(server.asked).toEqual([])
})

test('a tool with a Runner runs here, by name or alias, with a start and a result', async () => {
  const made = dispatcher({ runners: [{ name: 'a:here', run: ({ n }) => `ran ${String(n)}` }] })
  const result = { resultType: 'success', textResultForLlm: 'ran 1' }
  for (const name of ['a:here', 'a__here']) {
    expect(await all(made.stream(name, { n: 1 }))).toEqual([{ type: 'start' }, { type: 'result', result }])
    expect(await made.invoke(name, { n: 1 })).toEqual(result)
  }
  expect(server.asked).toEqual([])
})

test('without a service an unknown tool is told as everywhere', async () => {
  const alone = new ToolDispatcher({ runners: [] })
  expect(await alone.invoke('NOPE')).toEqual(failed('TOOL_NOT_FOUND', 'Unsupported tool: NOPE'))
})

const DECISION = { decision: 'ask', owner: null, rule: null, reason: 'Why.', effects: ['read'], limits: {} }

test('a dry run asks the service what it would do, and answers the decision or the refusal', async () => {
  const denied = { resultType: 'failure', code: 'PERMISSION_DENIED', error: 'No.', textResultForLlm: 'No.' }
  server.answers = [
    listAnswer(DECISION),
    listAnswer(denied, { status: 403 }),
    breaking,
    listAnswer({ no: 1 }),
  ]
  const asked = dispatcher()
  const dry = { dryRun: true, expectedDigest: 'sha256:x', idempotencyKey: 'k' } as const
  expect(await asked.invoke('a', { text: 'x' }, dry)).toMatchObject({ resultType: 'success', data: DECISION })
  expect(server.asked.at(-1)?.url).toMatch(/\/tools\/invoke\?dryRun=1$/)
  expect(await asked.invoke('a', {}, dry)).toEqual(denied)
  const lost = { code: 'RUNNER_UNAVAILABLE', error: expect.stringMatching(/The tool has not run\.$/) }
  expect(await asked.invoke('a', {}, dry)).toMatchObject(lost)
  expect(await asked.invoke('a', {}, dry)).toMatchObject(lost)
  expect(server.asked).toHaveLength(4)
})

test('a dry run of a tool of this program does not run it', async () => {
  let ran = 0
  const here = { name: 'here', run: () => (ran += 1) }
  const found = await dispatcher({ runners: [here] }).invoke('here', {}, { dryRun: true })
  expect(found).toMatchObject({ resultType: 'success', data: { decision: 'allow' } })
  expect(ran).toBe(0)
})
