import { afterAll, expect, test } from '@jest/globals'
import type { Server, ServerResponse } from 'node:http'
import { callerGone } from '../../../functions/src/http/caller.ts'
import { EventStream, type StreamTimes } from '../../../functions/src/http/event-stream.ts'
import { answerTo, UnreadAnswers } from '../../../functions/src/http/unread-answers.ts'
import { JsonText } from '../../../functions/src/json/json-text.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { serving } from '../../support/serving.ts'
import { until } from '../../support/until.ts'

/** A test that ran out of time leaves its server behind, and jest would wait for it for ever. */
const servers = new Set<Server>()
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

const KB_256 = new JsonText(`"${'x'.repeat(256 * 1024)}"`)

/** A server whose answers are streams. `write` gets each of them. */
async function streaming(
  write: (stream: EventStream, res: ServerResponse) => unknown,
  times?: Partial<StreamTimes>,
) {
  const unread = new UnreadAnswers()
  const served = await serving((_req, res) => {
    answerTo(res, unread, 'ann')
    void write(new EventStream(res, times), res)
  })
  servers.add(served.server)
  return { ...served, unread }
}

/** A connection that has asked and reads nothing. */
async function unreadAsk(url: string) {
  const socket = await rawConnection(url)
  socket.pause()
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  return socket
}

test('events are sent as they are, values as the JSON that was written, and nothing may keep or change them', async () => {
  await using server = await streaming((stream) => {
    void stream.send('start', { invocationId: 'i1' })
    void stream.send('log', { text: 'one\ntwo\r\n' })
    void stream.send('value', { value: new JsonText('{"a":\n1.0}') })
    stream.end('result', { resultType: 'success' })
  })
  const answer = await fetch(server.url)
  expect(await answer.text()).toBe(
    [
      'event: start\ndata: {"invocationId":"i1"}\n\n',
      'event: log\ndata: {"text":"one\\ntwo\\r\\n"}\n\n',
      'event: value\ndata: {"value":{"a": 1.0}}\n\n',
      'event: result\ndata: {"resultType":"success"}\n\n',
    ].join(''),
  )
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'private, no-store, no-transform',
    'x-accel-buffering': 'no',
  })
})

test('a stream without events has comments, until its end', async () => {
  await using server = await streaming((stream) => void stream.send('start', {}), { commentMs: 5 })
  const body = (await fetch(server.url)).body?.getReader()
  let text = ''
  while (!/(?:: the call runs\n\n.*){2}/s.test(text))
    text += Buffer.from((await body?.read())?.value ?? []).toString()
  await body?.cancel()
})

test('a reader that is behind is waited for, counted and not sent comments; then it gets everything', async () => {
  const waits: (Promise<void> | undefined)[] = []
  let written: EventStream | undefined
  await using server = await streaming(
    async (stream) => {
      written = stream
      // More than the buffers of a connection hold.
      for (let count = 0; count < 64; count += 1) {
        const wait = stream.send('value', { value: KB_256 })
        waits.push(wait)
        await wait
      }
      stream.end('result', {})
    },
    { commentMs: 1 },
  )
  const socket = await unreadAsk(server.url)
  await until(
    () => Promise.resolve(server.unread.state),
    ({ bytes }) => bytes > 64 * 1024,
  )
  expect(written?.isBehind).toBe(true)
  expect(waits.length).toBeLessThan(64)
  expect(server.unread.state.bytes).toBeLessThan(2 * 256 * 1024)
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString('latin1'))).resume()
  await until(
    () => Promise.resolve(text),
    () => text.includes('event: result\n'),
  )
  expect(text.split('event: value\n').length).toBe(65)
  await until(
    () => Promise.resolve(server.unread.state),
    ({ bytes }) => bytes === 0,
  )
  socket.destroy()
})

test('a reader that stalls is disconnected, and its call is told', async () => {
  const gone = Promise.withResolvers<void>()
  await using server = await streaming(
    async (stream, res) => {
      callerGone(res).addEventListener('abort', () => gone.resolve())
      while (!res.destroyed) await (stream.send('value', { value: KB_256 }) ?? Promise.resolve())
    },
    { unreadMs: 100 },
  )
  const socket = await unreadAsk(server.url)
  await gone.promise
  await until(
    () => Promise.resolve(server.unread.state),
    ({ bytes }) => bytes === 0,
  )
  socket.destroy()
})
