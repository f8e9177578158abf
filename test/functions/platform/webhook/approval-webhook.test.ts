import { afterEach, expect, test } from '@jest/globals'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ApprovalWebhook } from '../../../../functions/src/platform/webhook/approval-webhook.ts'
import { until } from '../../../support/until.ts'

const SECRET = 'a secret of the operator'
const NEW = { id: 'a1', uid: 'ann', tool: 'ECHO', expiresAt: '2026-01-02T03:19:05.678Z' }
const NOW = 1_700_000_000_500
const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** A real server that keeps what it receives and answers as the test says. */
async function receiver(answer: (res: ServerResponse, count: number) => unknown) {
  const received: { readonly body: string; readonly headers: IncomingMessage['headers'] }[] = []
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      received.push({ body, headers: req.headers })
      answer(res, received.length)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close().closeAllConnections())
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=1` }
}

function webhook(url: string) {
  const warned: unknown[] = []
  const log = { warn: (_text: string, fields?: object) => void warned.push(fields) }
  const hook = new ApprovalWebhook({ url, secret: SECRET }, log, { pausesMs: [1, 1, 1], now: () => NOW })
  closing.push(() => hook.close())
  return { hook, warned }
}

const is = (count: number) => (all: readonly unknown[]) => all.length === count

test('a new approval is told once, without arguments, with a signature over the time and the body', async () => {
  const { received, url } = await receiver((res) => res.writeHead(204).end())
  const { hook, warned } = webhook(url)
  hook.announce(NEW)
  const [{ body, headers } = { body: '', headers: {} }] = await until(() => Promise.resolve(received), is(1))
  expect(JSON.parse(body)).toEqual({ type: 'approval.pending', ...NEW })
  const [, time, signature] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-toolrack-signature'])) ?? []
  expect(time).toBe('1700000000')
  expect(signature).toBe(createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex'))
  expect(warned).toEqual([])
})

test('a request that fails is repeated, until one is accepted', async () => {
  const { received, url } = await receiver((res, count) =>
    count === 1 ? res.destroy() : res.writeHead(count === 2 ? 503 : 200).end(),
  )
  const { hook, warned } = webhook(url)
  hook.announce(NEW)
  await until(() => Promise.resolve(received), is(3))
  expect(new Set(received.map(({ body }) => body)).size).toBe(1)
  expect(warned).toEqual([])
})

test('after the last repetition the log says so, and a redirect is not followed', async () => {
  const other = await receiver((res) => res.end())
  const { received, url } = await receiver((res) => res.writeHead(307, { Location: other.url }).end())
  const { hook, warned } = webhook(url)
  hook.announce(NEW)
  expect(await until(() => Promise.resolve(warned), is(1))).toEqual([
    { approval: 'a1', reason: 'the webhook cannot be reached' },
  ])
  expect(received).toHaveLength(4)
  expect(other.received).toEqual([])
})

test('a webhook that never answers holds at most 20 messages of one user, and then those of others', async () => {
  let answering = false
  const held: ServerResponse[] = []
  const { received, url } = await receiver((res) => (answering ? res.end() : held.push(res)))
  const { hook, warned } = webhook(url)
  for (let count = 0; count < 21; count += 1) hook.announce(NEW)
  expect(warned).toEqual([{ approval: 'a1', reason: 'too many messages of its user are under way' }])
  hook.announce({ ...NEW, uid: 'bob' })
  expect(warned).toHaveLength(1)
  await until(() => Promise.resolve(received), is(21))
  answering = true
  for (const res of held) res.end()
  // The places are free again.
  await until(
    () => {
      hook.announce({ ...NEW, id: 'a2' })
      return Promise.resolve(received)
    },
    (all) => all.some(({ body }) => body.includes('a2')),
  )
})

test('a webhook that never answers holds at most 100 messages, and `close` gives them up', async () => {
  const { received, url } = await receiver(() => undefined)
  const { hook, warned } = webhook(url)
  for (let count = 0; count < 101; count += 1) hook.announce({ ...NEW, uid: `user${count % 10}` })
  expect(warned).toEqual([{ approval: 'a1', reason: 'too many messages are under way' }])
  await until(
    () => Promise.resolve(received),
    ({ length }) => length > 0,
  )
  hook.close()
  await until(() => Promise.resolve(warned), is(101))
})
