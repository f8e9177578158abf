import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import type { ToolDispatcherOptions, ToolsError } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { chat } from './calls.ts'
import { listAnswer, refusal, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

function dispatcher(options: ToolDispatcherOptions = {}): ToolDispatcher {
  return new ToolDispatcher({ service: server.origin, token: 't', ...options })
}

function signedOut(): string {
  throw new Error('signed out')
}

test.each<[string, RequestListener, object]>([
  [
    'refuses the token',
    refusal(401, 'TOKEN_INVALID', 'Not you.'),
    { status: 401, reason: 'TOKEN_INVALID', message: 'The service refused the request (401): Not you.' },
  ],
  [
    'refuses the caller',
    refusal(403, 'PERMISSION_DENIED', 'Not you.'),
    { status: 403, reason: 'PERMISSION_DENIED' },
  ],
  ['needs another header', refusal(400, 'HEADER_INVALID', 'No.'), { status: 400, reason: 'HEADER_INVALID' }],
  ['is at another address', listAnswer('<html>', { status: 404 }), { status: 404, reason: undefined }],
])(
  'a service that %s is an error of the operator: it is thrown as list throws it, when the Runners have ended',
  async (_title, fault, error) => {
    server.answers = [fault]
    const { promise: refused, resolve: refuse } = Promise.withResolvers<void>()
    let ended = false
    const run = async (): Promise<void> => {
      await refused
      ended = true
    }
    const made = dispatcher({
      runners: [{ name: 'HERE', run }],
      fetch: async (...args) => {
        const response = await fetch(...args)
        const text = await response.text()
        // The Runner ends after the client has read the answer.
        setImmediate(refuse)
        return new Response(text, response)
      },
    })
    const dispatched = made.dispatch([chat('a', 'A', {}), chat('b', 'HERE', {})])
    const thrown = dispatched.catch((reason: unknown) => ({ reason, ended }))
    const expected = { code: 'SERVICE_REFUSED', ...error }
    expect(await thrown).toMatchObject({ reason: expected, ended: true })
    await expect(toolDefs(server).list()).rejects.toMatchObject(expected)
    expect(server.asked).toHaveLength(2)
  },
)

test('a token function that throws is an error of the operator too', async () => {
  await expect(dispatcher({ token: signedOut }).dispatch([chat('a', 'A', {})])).rejects.toMatchObject({
    code: 'TOKEN_FAILED',
    message: 'The token function failed: signed out',
  })
})

test('what had run before the service refused the rest is in the error, and complete takes it', async () => {
  const result = { resultType: 'success', textResultForLlm: 'ran there', meta: {} }
  const ran = json({ results: Array.from({ length: 64 }, () => ({ result })), pending: [] })
  server.answers = [ran, refusal(401, 'TOKEN_INVALID', 'Not you.')]
  const calls = [chat('here', 'HERE', {}), ...Array.from({ length: 65 }, (_, at) => chat(`c${at}`, 'A', {}))]
  const { promise: first, resolve: firstEnds } = Promise.withResolvers<void>()
  let sent = 0
  const made = dispatcher({
    runners: [{ name: 'HERE', run: () => 'ran here' }],
    // The second request is sent when the first is answered, so that the answers come in this order.
    fetch: async (...args) => {
      if ((sent += 1) > 1) await first
      return fetch(...args).finally(firstEnds)
    },
  })
  const thrown = await made.dispatch(calls).catch((reason: unknown) => reason)
  expect(thrown).toMatchObject({ code: 'SERVICE_REFUSED', status: 401 })
  const { results } = thrown as ToolsError
  expect(results).toHaveLength(65)
  expect(results.slice(0, 2)).toMatchObject([
    { index: 0, id: 'here', name: 'HERE', result: { textResultForLlm: 'ran here' } },
    { index: 1, id: 'c0', name: 'A', result: { textResultForLlm: 'ran there' } },
  ])
  const { messages } = made.complete(calls, [...results, { index: 65, result: 'Not run.' }])
  expect(messages).toHaveLength(66)
})

/** An address where nothing listens any more. Some ports, such as 1, are refused by `fetch` itself. */
async function refusing(): Promise<string> {
  await using gone = await ScriptedServer.start()
  return gone.origin
}

test('if the connection is refused, the call is tried again, and then the model reads that the tool has not run', async () => {
  let tries = 0
  const made = dispatcher({
    service: await refusing(),
    fetch: (...args) => {
      tries += 1
      return fetch(...args)
    },
  })
  const { results } = await made.dispatch([chat('a', 'A', {})])
  const error = 'The service cannot be reached. The tool has not run.'
  expect(results).toMatchObject([{ result: { code: 'RUNNER_UNAVAILABLE', error, textResultForLlm: error } }])
  expect(tries).toBe(3)
})

test('a call that could not be sent is sent again, and run once', async () => {
  const result = { resultType: 'success', textResultForLlm: 'ran', meta: {} }
  server.answers = [json({ format: 'openai', messages: [], results: [{ result }], pending: [] })]
  const refused = await refusing()
  const addresses = [refused, refused]
  const made = dispatcher({ fetch: (url, init) => fetch(addresses.shift() ?? url, init) })
  const { results } = await made.dispatch([chat('a', 'A', {})])
  expect(results).toMatchObject([{ result: { textResultForLlm: 'ran' } }])
  expect(server.asked).toHaveLength(1)
})

/** As Node's `fetch` throws it: an AggregateError, which has the code of its first error and no `syscall`. */
function tried(...syscalls: readonly string[]): TypeError {
  const errors = syscalls.map((syscall) => Object.assign(new Error('no'), { code: 'ETIMEDOUT', syscall }))
  return new TypeError('fetch failed', {
    cause: Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' }),
  })
}

test.each([
  ['Node for an unknown host', new TypeError('no', { cause: { code: 'ENOTFOUND' } }), 'RUNNER_UNAVAILABLE'],
  [
    'Node for a host that does not answer',
    new TypeError('no', { cause: { code: 'ETIMEDOUT', syscall: 'connect' } }),
    'RUNNER_UNAVAILABLE',
  ],
  [
    'Node for a connection that was reset',
    new TypeError('no', { cause: { code: 'ECONNRESET', syscall: 'read' } }),
    'WORKER_DIED',
  ],
  ['node-fetch', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), 'RUNNER_UNAVAILABLE'],
  [
    'Node for a host with several addresses that do not answer',
    tried('connect', 'connect'),
    'RUNNER_UNAVAILABLE',
  ],
  ['Node if one of several errors came later', tried('connect', 'read'), 'WORKER_DIED'],
  ['Bun', Object.assign(new Error('no'), { code: 'ConnectionRefused' }), 'RUNNER_UNAVAILABLE'],
  ['a browser', new TypeError('Failed to fetch'), 'WORKER_DIED'],
  ['a platform that throws nothing', undefined, 'WORKER_DIED'],
])('what %s throws says whether the tool may have run', async (_title, error, code) => {
  const made = dispatcher({ fetch: () => Promise.reject(error) })
  expect((await made.dispatch([chat('a', 'A', {})])).results).toMatchObject([{ result: { code } }])
})
