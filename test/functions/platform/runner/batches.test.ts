import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import { FrameConnections } from '../../../../functions/src/platform/runner/frame-connections.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { answerFrame, FrameServer, type SentFrame } from '../../../support/frame-server.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'

const [INVOKE, BATCH] = [2, 3]
const { outcome: _outcome, ...RETURNED } = SUCCESS

function runnerAt(path: string) {
  // Nothing listens at this address: a call that is sent over HTTP fails.
  const endpoint = { url: 'http://127.0.0.1:9', secret: 's', socket: path }
  const runner = new HttpRunner({ endpoint: () => endpoint, patience: { graceMs: 10_000 } })
  return Object.assign(runner, { [Symbol.asyncDispose]: () => runner.close() })
}

/** The calls of one caller, each with its number as its argument. */
function callsOf(count: number, signal = new AbortController().signal): RunnerCall[] {
  return Array.from({ length: count }, (_, number) => ({ ...CALL, arguments: { number }, signal }))
}

const source = () => Promise.resolve({ source: 'TOOL_SPECS = []\n' })

function bodiesIn({ kind, payload }: SentFrame): { readonly arguments: { readonly number: number } }[] {
  if (kind === INVOKE) return [JSON.parse(String(payload)) as never]
  const bodies: never[] = []
  for (let at = 0; at < payload.length;) {
    const end = at + 4 + payload.readUInt32BE(at)
    bodies.push(JSON.parse(String(payload.subarray(at + 4, end))) as never)
    at = end
  }
  return bodies
}

const done = (index: number, text = 'cloudy') => answerFrame(JSON.stringify({ ...SUCCESS, text }), { index })
const error = (index: number, status: number, reason: string) =>
  answerFrame(JSON.stringify({ error: { message: 'no', details: [{ reason }] } }), { index, status })

test('calls of one caller in the same turn go as one request, and each gets its own answer', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket, request) => {
    // In another order than they came.
    for (const [index, body] of [...bodiesIn(request).entries()].toReversed())
      socket.write(done(index, `answer ${body.arguments.number}`))
  }
  await using runner = runnerAt(there.path)
  const outcomes = await Promise.all(callsOf(8).map((call) => runner.invoke(call)))
  expect(outcomes).toEqual(outcomes.map((_, number) => ({ ...RETURNED, text: `answer ${number}` })))
  expect(there.frames.map((frames) => frames.map(({ kind }) => kind))).toEqual([[1, BATCH]])
})

test('an answer does not wait for a call that hangs', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket) => socket.write(done(1))
  await using runner = runnerAt(there.path)
  const [hanging, quick] = callsOf(2).map((call) => runner.invoke(call))
  expect(await quick).toEqual(RETURNED)
  there.connections[0]?.write(done(0, 'at last'))
  expect(await hanging).toEqual({ ...RETURNED, text: 'at last' })
})

test("a call that is not answered in time does not end the others, and its late answer is nobody's", async () => {
  await using there = await FrameServer.start()
  there.answer = () => undefined
  await using runner = runnerAt(there.path)
  const [late, other] = callsOf(2)
  const lateOutcome = runner.invoke({ ...(late as RunnerCall), deadlineMs: -9_900 })
  const otherOutcome = runner.invoke(other as RunnerCall)
  expect(await lateOutcome).toMatchObject({ code: 'WORKER_DIED' })
  const [socket] = there.connections as [Socket]
  socket.write(Buffer.concat([done(0, 'too late'), done(1)]))
  expect(await otherOutcome).toEqual(RETURNED)
  // The connection might still bring something for the call that was given up, so it is not used again.
  there.answer = (each) => each.write(done(0))
  expect(await runner.invoke(callsOf(1)[0] as RunnerCall)).toEqual(RETURNED)
  expect(there.connections).toHaveLength(2)
})

test('a caller who leaves ends all calls', async () => {
  const leaving = new AbortController()
  await using there = await FrameServer.start()
  there.answer = () => leaving.abort()
  await using runner = runnerAt(there.path)
  const outcomes = await Promise.all(callsOf(3, leaving.signal).map((call) => runner.invoke(call)))
  expect(outcomes.map((outcome) => 'code' in outcome && outcome.code)).toEqual(Array(3).fill('CANCELLED'))
  await once(there.connections[0] as Socket, 'close')
})

test('a caller who leaves before the batch is sent runs nothing', async () => {
  await using there = await FrameServer.start()
  const connections = new FrameConnections()
  const leaving = new AbortController()
  const { signal } = leaving
  const request = { path: '/invoke', body: '{}', deadlineMs: 10_000, signal, isOfBatch: true } as const
  const endpoint = { url: 'http://127.0.0.1:9', secret: 's', socket: there.path }
  const answers = [connections.ask(endpoint, request), connections.ask(endpoint, request)]
  leaving.abort()
  const nothing = expect.objectContaining({ wasSent: false, isCancelled: true })
  expect(await Promise.all(answers)).toEqual([nothing, nothing])
  expect(there.connections).toEqual([])
})

test('calls of different callers never go together', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket) => socket.write(done(0))
  await using runner = runnerAt(there.path)
  await Promise.all([...callsOf(1), ...callsOf(1)].map((call) => runner.invoke(call)))
  expect(there.frames.map((frames) => frames.map(({ kind }) => kind))).toEqual([
    [1, INVOKE],
    [1, INVOKE],
  ])
})

test('a call with a listener goes alone, because the listener may make the connection wait', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket, request) => bodiesIn(request).forEach((_, index) => socket.write(done(index)))
  await using runner = runnerAt(there.path)
  const [heard, ...others] = callsOf(3)
  await Promise.all([
    runner.invoke({ ...(heard as RunnerCall), listen: () => undefined }),
    ...others.map((call) => runner.invoke(call)),
  ])
  expect(there.frames.map(([, request]) => request?.kind).toSorted()).toEqual([INVOKE, BATCH])
})

test('only the call whose module the runner does not have is repeated, with its source', async () => {
  await using there = await FrameServer.start()
  const asked: number[][] = []
  there.answer = (socket, request) => {
    const bodies = bodiesIn(request)
    asked.push(bodies.map((body) => body.arguments.number))
    for (const [index, body] of bodies.entries())
      socket.write('source' in body || index !== 1 ? done(index) : error(index, 404, 'MODULE_UNKNOWN'))
  }
  await using runner = runnerAt(there.path)
  const calls = callsOf(3).map((call) => runner.invoke({ ...call, source }))
  expect(await Promise.all(calls)).toEqual([RETURNED, RETURNED, RETURNED])
  expect(asked).toEqual([[0, 1, 2], [1]])
})

test('a connection that breaks ends only what was not answered', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket) => socket.end(done(0))
  await using runner = runnerAt(there.path)
  const outcomes = await Promise.all(callsOf(3).map((call) => runner.invoke(call)))
  expect(outcomes).toMatchObject([RETURNED, { code: 'WORKER_DIED' }, { code: 'WORKER_DIED' }])
  expect(there.frames.flat().filter(({ kind }) => kind !== 1)).toHaveLength(1)
})

test('a batch has at most 64 calls and 4 MiB', async () => {
  await using there = await FrameServer.start()
  there.answer = (socket, request) => bodiesIn(request).forEach((_, index) => socket.write(done(index)))
  await using runner = runnerAt(there.path)
  await Promise.all(callsOf(65).map((call) => runner.invoke(call)))
  const large = 'x'.repeat(3 << 20)
  await Promise.all(callsOf(2).map((call) => runner.invoke({ ...call, arguments: { large } })))
  const requests = there.frames.flat().filter(({ kind }) => kind !== 1)
  expect(requests.map((request) => bodiesIn(request).length).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 64])
})
