import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { artifactKey, keyStart } from '../../../../functions/src/features/artifacts/artifact-bytes.ts'
import { ArtifactBucket } from '../../../../functions/src/stores/bucket/artifact-bucket.ts'
import { BucketConnection, piecesOf } from '../../../../functions/src/stores/bucket/bucket-connection.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

const NOW_MS = Date.parse('2026-01-02T03:04:05Z')
const KEY = artifactKey(NOW_MS)
const FAILED = { code: 'STORE_FAILED' }

let server: ScriptedServer
let store: ArtifactBucket
let tokens: number
beforeEach(async () => {
  server = await ScriptedServer.start()
  tokens = 1
  const token = { get: () => Promise.resolve(`token-${tokens}`), forget: () => void (tokens += 1) }
  store = new ArtifactBucket('my.bucket', new BucketConnection(server.origin, token))
})
afterEach(async () => {
  await store.close()
  await server[Symbol.asyncDispose]()
})

const status =
  (code: number, text = ''): RequestListener =>
  (_req, res) =>
    res.writeHead(code).end(text)

/** Content without an end, and whether its reader has ended it. */
function endless() {
  const state = { isEnded: false }
  async function* content() {
    try {
      for (;;) {
        await Promise.resolve()
        yield Buffer.alloc(64 * 1024)
      }
    } finally {
      state.isEnded = true
    }
  }
  return { state, content: content() }
}

/** Content that breaks off when the server has got a part of it. */
async function* breaking() {
  yield Buffer.alloc(100_000)
  while (server.asked.length === 0) await new Promise(setImmediate)
  throw new Error('the sender has left')
}

const asked = () => server.asked.map(({ method = '', url = '' }) => `${method} ${url}`)

test('a read or a removal that fails for a while is repeated, one that goes on failing is STORE_FAILED', async () => {
  server.answers = [status(503), status(429), status(404)]
  expect(await store.read(KEY)).toBeUndefined()
  server.answers = [status(503)]
  await expect(store.read(KEY)).rejects.toMatchObject(FAILED)
  await expect(store.remove([KEY])).rejects.toMatchObject(FAILED)
  const object = `/storage/v1/b/my.bucket/o/toolrack%2Fartifacts%2F${KEY}`
  expect(asked()).toEqual([
    ...Array.from({ length: 6 }, () => `GET ${object}?fields=size`),
    ...Array.from({ length: 3 }, () => `DELETE ${object}`),
  ])
})

test('a refusal is not repeated, and a refused token is replaced once it is known', async () => {
  server.answers = [status(403, 'no')]
  await expect(store.remove([KEY])).rejects.toMatchObject({
    ...FAILED,
    cause: { message: 'Cloud Storage answered 403: no' },
  })
  expect(server.asked).toHaveLength(1)
  server.answers = [status(401), status(204)]
  await store.remove([KEY])
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer token-1',
    'Bearer token-1',
    'Bearer token-2',
  ])
})

test('an upload that is refused early ends its content, and is sent once', async () => {
  server.answers = [
    (req, res) => {
      // A server that reads no more.
      req.once('data', () => req.pause())
      res.writeHead(404).end('The specified bucket does not exist.')
    },
  ]
  const { state, content } = endless()
  await expect(store.write(KEY, content, 1e12)).rejects.toMatchObject({
    ...FAILED,
    cause: { message: 'Cloud Storage answered 404: The specified bucket does not exist.' },
  })
  expect(state.isEnded).toBe(true)
  expect(asked()).toEqual([
    `POST /upload/storage/v1/b/my.bucket/o?uploadType=media&name=toolrack%2Fartifacts%2F${KEY}`,
  ])
})

test('a large piece is read in small ones, and a reader that stops ends the answer', async () => {
  const answer = Readable.from([Buffer.alloc(150_000)])
  const sizes: number[] = []
  for await (const piece of piecesOf(answer, 65_536)) sizes.push(piece.length)
  expect(sizes).toEqual([65_536, 65_536, 18_928])
  const left = Readable.from([Buffer.alloc(1), Buffer.alloc(1)])
  for await (const piece of piecesOf(left, 10)) {
    expect(piece.length).toBe(1)
    break
  }
  expect(left.destroyed).toBe(true)
})

test('an upload whose content breaks off never ends for Cloud Storage', async () => {
  let isWhole: boolean | undefined
  const closed = new Promise<void>((resolve) => {
    server.answers = [
      (req) => {
        req.on('error', () => undefined).resume()
        req.on('close', () => {
          isWhole = req.complete
          resolve()
        })
      },
    ]
  })
  await expect(store.write(KEY, breaking(), 1e6)).rejects.toThrow('the sender has left')
  await closed
  expect(isWhole).toBe(false)
})

test('a connection that breaks is STORE_FAILED, for an upload and within a content', async () => {
  server.answers = [(req) => req.socket.destroy()]
  const { state, content } = endless()
  await expect(store.write(KEY, content, 1e12)).rejects.toMatchObject(FAILED)
  expect(state.isEnded).toBe(true)
  server.answers = [
    json({ size: '10' }),
    (_req, res) => {
      res.writeHead(200, { 'Content-Length': 10 })
      res.write('12345', () => res.destroy())
    },
  ]
  const found = await store.read(KEY)
  const read = async () => {
    for await (const piece of found ?? []) expect(piece.length).toBe(5)
  }
  await expect(read()).rejects.toMatchObject(FAILED)
})

test('old contents are listed page by page, up to the time', async () => {
  const keys = [artifactKey(NOW_MS - 2), artifactKey(NOW_MS - 1)]
  const [first, second] = keys.map((key) => ({ items: [{ name: `toolrack/artifacts/${key}` }] }))
  server.answers = [json({ ...first, nextPageToken: 'p 2' }), status(204), json(second), status(204)]
  expect(await store.removeMadeBefore(NOW_MS)).toBe(2)
  const list = `GET /storage/v1/b/my.bucket/o?prefix=toolrack%2Fartifacts%2F&endOffset=toolrack%2Fartifacts%2F${keyStart(NOW_MS)}&maxResults=500&fields=items%28name%29%2CnextPageToken`
  const removed = keys.map((key) => `DELETE /storage/v1/b/my.bucket/o/toolrack%2Fartifacts%2F${key}`)
  expect(asked()).toEqual([list, removed[0], `${list}&pageToken=p+2`, removed[1]])
  server.answers = [status(200, '<html>')]
  await expect(store.removeMadeBefore(NOW_MS)).rejects.toMatchObject(FAILED)
})
