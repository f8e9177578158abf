import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type {
  RunnerCall,
  RunnerEvent,
  RunnerOutcome,
} from '../../../../functions/src/catalog/definitions/runner.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { ANSWER_BYTES_MAX } from '../../../../functions/src/platform/runner/runner-request.ts'
import type { RunnerEndpoint } from '../../../../functions/src/platform/runner/runner-request.ts'
import { answerFrame, eventFrame, frameOf, FrameServer } from '../../../support/frame-server.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'
import { until } from '../../../support/until.ts'

const SECRET = 'a secret of sixteen'
const DONE = answerFrame(JSON.stringify(SUCCESS))
const { outcome: _outcome, ...RETURNED } = SUCCESS

const log = (text: string): string => `${JSON.stringify({ event: 'log', text })}\n`

function runnerAt(path: string, failed?: (endpoint: RunnerEndpoint) => void) {
  // Nothing listens at this address: a call that is sent over HTTP fails.
  return runnerOf({ url: 'http://127.0.0.1:9', secret: SECRET, socket: path }, failed)
}

function runnerOf(endpoint: RunnerEndpoint, failed?: (endpoint: RunnerEndpoint) => void) {
  const runner = new HttpRunner({
    endpoint: () => endpoint,
    patience: { graceMs: 10_000 },
    ...(failed && { failed }),
  })
  return Object.assign(runner, { [Symbol.asyncDispose]: () => runner.close() })
}

/** The outcome of a call to a runner that sends this, and how often it was asked. */
async function answered(answer: FrameServer['answer'], call: Partial<RunnerCall> = {}) {
  await using there = await FrameServer.start()
  there.answer = answer
  await using runner = runnerAt(there.path)
  const outcome = await runner.invoke({ ...CALL, ...call })
  return { outcome, asked: there.frames.flat().filter(({ kind }) => kind !== 1).length }
}

const sends =
  (...parts: readonly Buffer[]): FrameServer['answer'] =>
  (socket) => {
    for (const part of parts) socket.write(part)
  }

test('a connection begins with the version and the secret, and is kept for the next call', async () => {
  await using there = await FrameServer.start()
  there.answer = sends(DONE)
  await using runner = runnerAt(there.path)
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  const [frames, ...others] = there.frames
  expect(others).toEqual([])
  expect(frames?.map(({ kind }) => kind)).toEqual([1, 2, 2])
  expect(frames?.[0]?.payload).toEqual(Buffer.concat([Buffer.of(1), Buffer.from(SECRET)]))
  const { source: _source, signal: _signal, minIsolation: _min, resultBytesMax: outputBytes, ...sent } = CALL
  expect(JSON.parse(String(frames?.[1]?.payload))).toEqual({ ...sent, limits: { outputBytes } })
})

/** A call of another caller. */
const own = (): RunnerCall => ({ ...CALL, signal: new AbortController().signal })

test('calls of several callers at once have a connection each', async () => {
  await using there = await FrameServer.start()
  const waiting: Socket[] = []
  there.answer = (socket) => {
    waiting.push(socket)
    if (waiting.length === 3) for (const each of waiting) each.write(DONE)
  }
  await using runner = runnerAt(there.path)
  const calls = [runner.invoke(own()), runner.invoke(own()), runner.invoke(own())]
  expect(await Promise.all(calls)).toEqual([RETURNED, RETURNED, RETURNED])
  expect(there.connections).toHaveLength(3)
})

test('frames may arrive byte by byte, or all at once', async () => {
  const all = Buffer.concat([
    eventFrame(log('one\n') + log('two\n').slice(0, 9)),
    eventFrame(log('two\n').slice(9)),
    DONE,
  ])
  const bytes = [...all].map((byte) => Buffer.of(byte))
  const slowly: FrameServer['answer'] = (socket) => {
    const write = ([byte, ...rest]: readonly Buffer[]): void => {
      if (byte) socket.write(byte, () => void setImmediate().then(() => write(rest)))
    }
    write(bytes)
  }
  for (const answer of [slowly, sends(all)]) {
    const events: RunnerEvent[] = []
    const listen = (event: RunnerEvent) => void events.push(event)
    expect((await answered(answer, { listen })).outcome).toEqual(RETURNED)
    expect(events).toEqual([
      { type: 'log', text: 'one\n' },
      { type: 'log', text: 'two\n' },
    ])
  }
})

test('while the listener of the events waits, nothing more is read', async () => {
  const { promise: hasRead, resolve: read } = Promise.withResolvers<void>()
  const events: string[] = []
  const held: number[] = []
  const listen = (event: RunnerEvent) => {
    events.push(event.type === 'log' ? event.text : event.type)
    return event.type === 'log' && event.text === 'wait' ? hasRead : undefined
  }
  const answer = async (socket: Socket): Promise<void> => {
    socket.write(eventFrame(log('wait')))
    await until(
      () => Promise.resolve(events),
      ({ length }) => length === 1,
    )
    // The buffers of a connection take less than this.
    for (let at = 0; at < 40; at += 1) socket.write(eventFrame(log('x'.repeat(60_000))))
    for (let turn = 0; turn < 100; turn += 1) await setImmediate()
    held.push(socket.writableLength, events.length)
    read()
    socket.write(DONE)
  }
  expect((await answered((socket) => void answer(socket), { listen })).outcome).toEqual(RETURNED)
  expect(events).toHaveLength(41)
  expect(held).toEqual([expect.any(Number), 1])
  expect(held[0]).toBeGreaterThan(0)
})

test.each<[string, readonly Buffer[], string]>([
  ['of an unknown kind', [frameOf(9, 'what')], 'a frame has the unknown kind 9'],
  [
    'too long',
    [Buffer.from('7fffffff05', 'hex')],
    `a frame has more than ${ANSWER_BYTES_MAX['/invoke'] + 6} bytes`,
  ],
  ['with too many lines', [Buffer.from('0001000304', 'hex')], 'a frame has more than 65538 bytes'],
  ['too short', [frameOf(5, 'abc')], 'a frame is too short'],
  ['of a call that nobody made', [answerFrame('{}', { index: 1 })], 'a frame belongs to no call'],
  ['after the answer', [Buffer.concat([DONE, DONE])], 'a frame belongs to no call'],
  ['begun after the answer', [Buffer.concat([DONE, Buffer.of(0)])], 'something follows the answer'],
  ['that is HTTP', [Buffer.from('HTTP/1.1 200 OK\r\n\r\n')], 'a frame has the unknown kind 47'],
  ['with events that are none', [eventFrame('no event\n')], 'line 1 is no event'],
  ['with half a line of events', [eventFrame('{"event":'), DONE], 'it ends in the middle of a line'],
])('a frame %s is no answer, and the call may have run', async (_what, frames, fault) => {
  expect(await answered(sends(...frames))).toEqual({
    outcome: {
      code: 'WORKER_DIED',
      error: `The runner sent an answer that is not valid (${fault}); the tool may have run. Look before you repeat the call.`,
    },
    asked: 1,
  })
})

test.each<[string, FrameServer['answer']]>([
  ['closes the connection', (socket) => socket.end()],
  ['closes it in the middle of its answer', (socket) => socket.end(DONE.subarray(0, -1))],
  ['breaks the connection', (socket) => socket.destroy()],
])('a runner that %s may have run the call, which is not sent again', async (_what, answer) => {
  const { outcome, asked } = await answered(answer)
  expect(outcome).toMatchObject({
    code: 'WORKER_DIED',
    error: expect.stringMatching(/^The runner was lost \(E/),
  })
  expect(asked).toBe(1)
})

test('a refusal has its reason, and the time until a retry', async () => {
  const body = { error: { code: 429, message: 'too many', details: [{ reason: 'RUNNER_BUSY' }] } }
  const answer = sends(answerFrame(JSON.stringify(body), { status: 429, retryAfter: 7 }))
  expect((await answered(answer)).outcome).toEqual({
    code: 'RUNNER_BUSY',
    error: 'Nothing was run: too many.',
    retryAfterSeconds: 7,
  })
})

test.each([
  [400, 'REQUEST_MALFORMED', 'The runner refuses the call (REQUEST_MALFORMED); nothing was run.'],
  [401, 'TOKEN_INVALID', 'The runner refuses the secret of this service; nothing was run.'],
])(
  'a runner of another version, or with another secret, has run nothing: %i',
  async (status, reason, error) => {
    const body = { error: { code: status, message: 'no', details: [{ reason }] } }
    await using there = await FrameServer.start()
    there.answer = (socket) => socket.end(answerFrame(JSON.stringify(body), { status }))
    const failed: RunnerEndpoint[] = []
    await using runner = runnerAt(there.path, (endpoint) => failed.push(endpoint))
    expect(await runner.invoke(CALL)).toEqual({ code: 'RUNNER_UNAVAILABLE', error })
    expect(failed).toHaveLength(status === 401 ? 1 : 0)
  },
)

test('a connection that the runner has closed between two calls is not used again', async () => {
  await using there = await FrameServer.start()
  there.answer = sends(DONE)
  await using runner = runnerAt(there.path)
  await runner.invoke(CALL)
  const [first] = there.connections
  first?.end()
  await once(first as Socket, 'close')
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  expect(there.frames.map((frames) => frames.map(({ kind }) => kind))).toEqual([
    [1, 2],
    [1, 2],
  ])
})

test('a call whose connection is broken before a byte of it is written was not run', async () => {
  await using there = await FrameServer.start()
  there.answer = sends(DONE)
  await using runner = runnerAt(there.path)
  await runner.invoke(CALL)
  // The service has had no turn in which it could notice this.
  there.connections[0]?.destroy()
  expect(await runner.invoke(CALL)).toEqual({
    code: 'RUNNER_UNAVAILABLE',
    error: 'The runner was lost (EPIPE); nothing was run.',
  })
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
})

test('bytes that come while no call runs end the connection', async () => {
  await using there = await FrameServer.start()
  there.answer = sends(DONE)
  await using runner = runnerAt(there.path)
  await runner.invoke(CALL)
  const [first] = there.connections
  first?.write(DONE)
  await once(first as Socket, 'close')
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  expect(there.connections).toHaveLength(2)
})

test('where nothing listens, neither at the socket nor over HTTP, nothing was run', async () => {
  const failed: RunnerEndpoint[] = []
  await using runner = runnerAt('/no/such/socket', (endpoint) => failed.push(endpoint))
  expect(await runner.invoke(CALL)).toEqual({
    code: 'RUNNER_UNAVAILABLE',
    error: 'The runner was lost (ECONNREFUSED); nothing was run.',
  })
  expect(failed).toHaveLength(1)
})

test('a call goes over HTTP while nothing listens at the socket, and only then', async () => {
  await using over = await ScriptedServer.start()
  await using there = await FrameServer.start()
  const away = `${there.path}-away`
  const endpoint = { url: over.origin, secret: SECRET, socket: there.path }
  await using runner = runnerOf(endpoint)
  renameSync(there.path, away)
  over.answers = [json(SUCCESS), json(SUCCESS), json(SUCCESS)]
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  const { signal } = new AbortController()
  const both = [runner.invoke({ ...CALL, signal }), runner.invoke({ ...CALL, signal })]
  expect(await Promise.all(both)).toEqual([RETURNED, RETURNED])
  expect([over.asked.length, there.connections.length]).toEqual([3, 0])
  renameSync(away, there.path)
  there.answer = (socket) => socket.destroy()
  // This call was sent, so it is not sent again.
  expect(await runner.invoke(CALL)).toMatchObject({ code: 'WORKER_DIED' })
  there.answer = sends(DONE)
  expect(await runner.invoke(CALL)).toEqual(RETURNED)
  expect([over.asked.length, there.connections.length]).toEqual([3, 2])
})

test('a caller who leaves closes the connection, and the call may have run', async () => {
  const leaving = new AbortController()
  const closed = Promise.withResolvers<void>()
  const answer: FrameServer['answer'] = (socket) => {
    socket.on('close', () => closed.resolve())
    leaving.abort()
  }
  const { outcome } = await answered(answer, { signal: leaving.signal })
  expect(outcome).toMatchObject({ code: 'CANCELLED', mayHaveRun: true })
  await closed.promise
})

test('a caller who left before the call is sent runs nothing', async () => {
  await using there = await FrameServer.start()
  await using runner = runnerAt(there.path)
  expect(await runner.invoke({ ...CALL, signal: AbortSignal.abort() })).toMatchObject({ code: 'CANCELLED' })
  const leaving = new AbortController()
  const call = runner.invoke({ ...CALL, signal: leaving.signal })
  leaving.abort()
  const outcome: RunnerOutcome = await call
  expect(outcome).toEqual({
    code: 'CANCELLED',
    error: 'The caller disconnected before the call had ended; nothing was run.',
  })
  expect(there.connections).toEqual([])
})

test('a runner that does not answer in time is given up', async () => {
  const { outcome } = await answered(() => undefined, { deadlineMs: -9_900 })
  expect(outcome).toMatchObject({
    code: 'WORKER_DIED',
    error: expect.stringMatching(/^The runner did not answer within \d+ ms; the tool may have run/),
  })
})
