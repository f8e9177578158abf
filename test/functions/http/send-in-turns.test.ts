import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { once } from 'node:events'
import { sendInTurns } from '../../../functions/src/http/send-json.ts'
import { jsonOf, JsonText } from '../../../functions/src/json/json-text.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { serving } from '../../support/serving.ts'

/** Larger than the buffers of a connection. */
const LARGE = {
  results: Array.from({ length: 200 }, () => ({ text: 'é"'.repeat(60_000), data: new JsonText('[1.0]') })),
}

test('any value is sent as the JSON that it is, with its length where it is small', async () => {
  let value: object = {}
  await using server = await serving((_req, res) => void sendInTurns(res, value, { 'X-More': 'a' }))
  const any = fc.record({
    a: fc.jsonValue(),
    b: fc.array(fc.array(fc.jsonValue())),
    'c"': fc.constant(undefined),
  })
  await fc.assert(
    fc.asyncProperty(any, async (each) => {
      value = { ...each, text: new JsonText('{"a": 1.0}') }
      const answer = await fetch(server.url)
      const text = await answer.text()
      expect(text).toBe(`${jsonOf(value)}\n`)
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
      expect(answer.headers.get('x-more')).toBe('a')
    }),
    { numRuns: 50 },
  )
})

test('while a large value is sent others are answered, and it is sent whole', async () => {
  const ended: string[] = []
  await using server = await serving((req, res) => {
    if (req.url === '/small') res.end('small', () => void ended.push('small'))
    else void sendInTurns(res, LARGE, {}).then(() => ended.push('large'))
  })
  const large = await fetch(server.url)
  expect(await (await fetch(`${server.url}/small`)).text()).toBe('small')
  expect(ended).toEqual(['small'])
  expect((await large.text()) === `${jsonOf(LARGE)}\n`).toBe(true)
})

test('a reader who goes ends it', async () => {
  const { promise: over, resolve } = Promise.withResolvers<boolean>()
  await using server = await serving(
    (_req, res) => void sendInTurns(res, LARGE, {}).then(() => resolve(res.writableEnded)),
  )
  const socket = await rawConnection(server.url)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  expect(await over).toBe(false)
})

test('a reader who takes nothing is cut off after a while, and one who waits behind another answer too', async () => {
  const ended: boolean[] = []
  const { promise: over, resolve } = Promise.withResolvers<void>()
  await using server = await serving(
    (_req, res) =>
      void sendInTurns(res, LARGE, {}, 200).then(() => {
        ended.push(res.writableEnded)
        if (ended.length === 2) resolve()
      }),
  )
  const socket = await rawConnection(server.url)
  socket.on('error', () => undefined).pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
  await over
  expect(ended).toEqual([false, false])
  socket.destroy()
})
