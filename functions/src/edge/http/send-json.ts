import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { jsonOf, JsonText } from '../../tools/json/json-text.ts'
import { drained, isGone, READER_PATIENCE_MS } from './caller.ts'
import { isNotModified } from './entity-tag.ts'
import { holdAnswer } from './unread-answers.ts'

const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Sends a value as JSON. Throws SERVICE_BUSY if too many bytes wait for the reader of a GET. */
export function sendJson(
  res: ServerResponse,
  httpStatus: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  const body = Buffer.from(`${jsonOf(value)}\n`)
  const caching = httpStatus >= 400 ? { 'Cache-Control': 'private, no-store' } : {}
  holdAnswer(res, body.length)
  const length = { 'Content-Length': String(body.length) }
  res.writeHead(httpStatus, { ...JSON_HEADERS, ...caching, ...headers, ...length })
  res.end(body)
}

/** Sends a value under the entity tag `digest`, or a 304 to a reader that has it. */
export function sendTagged(
  { req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse },
  digest: string,
  value: () => unknown,
): void {
  const etag = `"${digest}"`
  if (isNotModified(req.headers['if-none-match'], etag))
    res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
  else sendJson(res, 200, value(), { ETag: etag })
}

/** How many UTF-16 code units of JSON are made at once, in less than a millisecond. A single text may be longer. */
const AT_ONCE = 64 * 1024

/** The depth of the values in a dispatched call's result: results, item, result, member. Deeper values are written at once. */
const DEPTH = 4

/**
 * Sends a value as `sendJson` does, but gives other requests turns while it makes the JSON, and makes only as much as the reader
 * takes. Without turns the results of 64 calls took 40 to 500 ms. Resolves when everything is written, or the reader has gone.
 */
export async function sendInTurns(
  res: ServerResponse,
  value: object,
  headers: Record<string, string>,
  patienceMs = READER_PATIENCE_MS,
): Promise<void> {
  // Node itself does not count the time of a slow write.
  res.setTimeout(patienceMs, () => void res.req.socket.destroy())
  let text = ''
  for (const piece of piecesOf(value, 0)) {
    text += piece
    if (text.length < AT_ONCE) continue
    if (!res.headersSent) res.writeHead(200, { ...JSON_HEADERS, ...headers })
    if (!res.write(text)) await drained(res)
    if (isGone(res)) return
    text = ''
    await setImmediate()
  }
  const last = Buffer.from(`${text}\n`)
  if (!res.headersSent)
    res.writeHead(200, { ...JSON_HEADERS, ...headers, 'Content-Length': String(last.length) })
  res.end(last)
}

/** The JSON of a value in pieces, none larger than one value at DEPTH. */
function* piecesOf(value: unknown, depth: number): Generator<string> {
  if (depth === DEPTH || typeof value !== 'object' || value === null || value instanceof JsonText) {
    yield jsonOf(value)
  } else if (Array.isArray(value)) {
    let before = '['
    for (const item of value as readonly unknown[]) {
      yield before
      yield* piecesOf(item, depth + 1)
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  } else {
    let before = '{'
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      yield* piecesOf(member, depth + 1)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}
