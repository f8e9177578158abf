import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Socket } from 'node:net'
import { FirestoreRest } from '../../../../functions/src/stores/firestore/firestore-rest.ts'
import type { RestElement } from '../../../../functions/src/stores/firestore/firestore-rest.ts'
import type { AccessToken } from '../../../../functions/src/stores/firestore/metadata-token.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

let server: ScriptedServer
let rest: FirestoreRest
let tokens: string[]

const FOUND = [{ readTime: 'now', done: true }]

beforeEach(async () => {
  server = await ScriptedServer.start()
  tokens = ['first', 'second']
  const token: AccessToken = { get: () => tokens[0] ?? '', forget: () => void tokens.shift() }
  rest = new FirestoreRest(server.origin, 'p', token)
})
afterEach(async () => {
  rest.close()
  await server[Symbol.asyncDispose]()
})

function ask(signal = new AbortController().signal, at: readonly string[] = ['tools', 'defs']) {
  return rest.ask({ at, method: 'runQuery', body: { a: 1 }, read: whole, signal })
}

test('a question goes to its document, with who asks, over a connection that is kept', async () => {
  server.answers = [json(FOUND)]
  expect(await ask()).toEqual(FOUND)
  await ask()
  const [first, second] = server.asked
  expect([first?.method, first?.url, first?.headers.authorization]).toEqual([
    'POST',
    '/v1/projects/p/databases/(default)/documents/tools/defs:runQuery',
    'Bearer first',
  ])
  expect(second?.socket).toBe(first?.socket)
})

test('a segment can not lead to another document', async () => {
  server.answers = [json(FOUND)]
  await ask(undefined, ['users', '../x/y?z#', 'tools'])
  expect(server.asked[0]?.url).toContain('/documents/users/..%2Fx%2Fy%3Fz%23/tools:runQuery')
})

test.each([
  ['a busy store', json({ error: { code: 503, status: 'UNAVAILABLE', message: 'later' } }, 503)],
  ['too many questions', json([{ error: { code: 429 } }], 429)],
  ['a connection that ends', (req: { destroy: () => unknown }) => void req.destroy()],
  ['an answer that ends too early', cut],
  ['an answer without a length that ends too early', cutUnmeasured],
  ['an error in the middle of an answer', json([{ document: { name: 'a' } }, { error: { code: 500 } }])],
])('%s is asked again, and what came before counts once', async (_title, fault) => {
  server.answers = [fault, json(FOUND)]
  expect(await ask()).toEqual(FOUND)
  expect(server.asked).toHaveLength(2)
})

test('a token that was refused is changed for another', async () => {
  server.answers = [json({ error: { code: 401 } }, 401), json(FOUND)]
  expect(await ask()).toEqual(FOUND)
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
})

test('a refusal is final and says what Firestore said', async () => {
  server.answers = [json([{ error: { code: 403, status: 'PERMISSION_DENIED', message: 'no' } }], 403)]
  await expect(ask()).rejects.toThrow('Firestore answered 403 PERMISSION_DENIED: no')
  expect(server.asked).toHaveLength(1)
})

test('what a proxy in between answers is told', async () => {
  server.answers = [(_req, res) => res.writeHead(404).end('<html>no such host')]
  await expect(ask()).rejects.toThrow('Firestore answered 404 : <html>no such host')
})

test('a fault that stays is given up after the third time', async () => {
  server.answers = [json({}, 500)]
  await expect(ask()).rejects.toThrow('Firestore answered 500')
  expect(server.asked).toHaveLength(3)
})

test('a store that can not be reached is told in words', async () => {
  await server[Symbol.asyncDispose]()
  await expect(ask()).rejects.toThrow('Firestore could not be asked: connect ECONNREFUSED')
  server = await ScriptedServer.start()
})

test('a question that nobody waits for any more ends, wherever it is', async () => {
  for (const answer of [() => undefined, begin]) {
    const waiting = new AbortController()
    const closed = Promise.withResolvers<void>()
    server.answers = [
      (req, res) => {
        req.socket.on('close', () => closed.resolve())
        answer(req, res)
        waiting.abort()
      },
    ]
    await expect(ask(waiting.signal)).rejects.toThrow()
    await closed.promise
  }
  expect(server.asked).toHaveLength(2)
})

test('a hundred thousand documents are read as they come', async () => {
  const fields = { text: { stringValue: 'x'.repeat(500) } }
  server.answers = [
    async (_req, res) => {
      res.write('[')
      for (let count = 0; count < 100_000; count += 1) {
        const element = { document: { name: `items/t${count}`, fields } }
        const isGoingOn = res.write(`${count > 0 ? ',' : ''}${JSON.stringify(element)}`)
        if (!isGoingOn) await new Promise((resolve) => res.once('drain', resolve))
      }
      res.end(']')
    },
  ]
  const { signal } = new AbortController()
  const names = await rest.ask({ at: [], method: 'runQuery', body: {}, read: nameOf, signal })
  expect([names.length, names.at(-1)]).toEqual([100_000, 'items/t99999'])
}, 60_000)

function cut(_req: unknown, res: { write: (text: string) => unknown; destroy: () => unknown }): void {
  res.write('[{"document":{"name":"a"}},{"docu')
  setImmediate(() => res.destroy())
}

/** Node can not tell that this one is not whole. */
function cutUnmeasured({ socket }: { readonly socket: Socket }): void {
  socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[{"document":{"name":"a"}},')
}

function begin(_req: unknown, res: { write: (text: string) => unknown }): void {
  res.write('[{"document":{"name":"a"}},')
}

function whole(element: RestElement): RestElement[] {
  return [element]
}

function nameOf({ document }: RestElement): string[] {
  return document ? [document.name] : []
}
