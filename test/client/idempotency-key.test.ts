import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { chat } from './calls.ts'

let server: ScriptedServer
let keys: (string | undefined)[]
beforeEach(async () => {
  server = await ScriptedServer.start()
  keys = []
})
afterEach(() => server[Symbol.asyncDispose]())

const dispatcher = (deadlineMs = 20_000) =>
  new ToolDispatcher({ service: server.origin, token: 't', deadlineMs })

/** Reads the request, notes its key, and answers. */
const answering =
  (answer: (req: IncomingMessage, res: ServerResponse) => void): RequestListener =>
  (req, res) => {
    req.resume().on('end', () => {
      keys.push(req.headers['idempotency-key']?.toString())
      answer(req, res)
    })
  }

const SENT = { resultType: 'success', textResultForLlm: 'sent', meta: {} }
const IN_FLIGHT = {
  resultType: 'failure',
  textResultForLlm: 'runs',
  error: 'runs',
  code: 'CALL_IN_FLIGHT',
  meta: {},
}

const breaks = answering((req) => req.socket.destroy())
const halves = answering((req, res) => {
  res.writeHead(200, { 'Content-Length': '1000' }).write('{"resultType":')
  setTimeout(() => req.socket.destroy(), 20)
})
const says = (status: number, body: unknown): RequestListener =>
  answering((_req, res) => res.writeHead(status).end(JSON.stringify(body)))
const dispatched = (result: unknown) => ({
  format: 'openai',
  messages: [],
  results: [{ result }],
  pending: [],
})

test.each([
  ['a broken connection', breaks],
  ['half an answer', halves],
  ['a 502 of a proxy', says(502, 'gone')],
])('invoke with a key sends the call again after %s, and without a key it does not', async (_what, fault) => {
  server.answers = [fault, says(200, SENT)]
  expect(await dispatcher().invoke('mail:send', {}, { idempotencyKey: 'k' })).toMatchObject(SENT)
  expect(keys).toEqual(['k', 'k'])
  server.answers = [fault, says(200, SENT)]
  expect(await dispatcher().invoke('mail:send')).toMatchObject({
    error: expect.stringContaining('may have run'),
  })
  expect(keys).toEqual(['k', 'k', undefined])
})

test('dispatch with a key sends the calls again, and asks until no call is in flight', async () => {
  server.answers = [breaks, says(200, dispatched(IN_FLIGHT)), says(200, dispatched(SENT))]
  const { results } = await dispatcher().dispatch([chat('c1', 'mail__send', {})], { idempotencyKey: 'k' })
  expect(results).toMatchObject([{ result: { textResultForLlm: 'sent' } }])
  expect(keys).toEqual(['k', 'k', 'k'])
})

test('a stream that breaks off is followed by the result of the same call', async () => {
  const starts = answering((req, res) => {
    res
      .writeHead(200, { 'Content-Type': 'text/event-stream' })
      .write('event: start\ndata: {"invocationId":"i"}\n\n')
    setTimeout(() => req.socket.destroy(), 20)
  })
  server.answers = [starts, says(425, IN_FLIGHT), says(200, SENT)]
  const types: string[] = []
  for await (const event of dispatcher().stream('mail:send', {}, { idempotencyKey: 'k' }))
    types.push(event.type)
  expect(types).toEqual(['start', 'result'])
  expect(keys).toEqual(['k', 'k', 'k'])
})

test('if no answer comes, the failure says that the tool may have run, even if a later request was refused', async () => {
  server.answers = [breaks, says(429, {}), says(429, {})]
  const result = await dispatcher().invoke('mail:send', {}, { idempotencyKey: 'k' })
  expect(result).toMatchObject({ code: 'WORKER_DIED', error: expect.stringContaining('may have run') })
})

test('a call that is in flight until the deadline is told so', async () => {
  server.answers = [says(425, IN_FLIGHT)]
  const result = await dispatcher(900).invoke('mail:send', {}, { idempotencyKey: 'k' })
  expect(result).toMatchObject({ code: 'CALL_IN_FLIGHT' })
})

test.each(['', 'k'.repeat(256), 'a\nb', 'ü'])(
  'the key %j is refused before anything is sent',
  async (idempotencyKey) => {
    await expect(dispatcher().invoke('mail:send', {}, { idempotencyKey })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await expect(dispatcher().dispatch([], { idempotencyKey })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    expect(keys).toEqual([])
  },
)
