import type { ServerResponse } from 'node:http'
import { Turns } from '../loop-turn.ts'
import { jsonOf, JsonText } from '../json/json-text.ts'
import { eventOrEnd, isGone, READER_PATIENCE_MS } from './caller.ts'
import { isNotModified } from './entity-tag.ts'
import { holdAnswer } from './unread-answers.ts'

export const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Sends a value as JSON. Throws SERVICE_BUSY if the request is a GET and its user has too many bytes of unread answers. */
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
  // Only a header that was set with `setHeader` can be read later. The record of a write reads the entity tag.
  if (headers['ETag'] !== undefined) res.setHeader('ETag', headers['ETag'])
  res.writeHead(httpStatus, { ...JSON_HEADERS, ...caching, ...headers, ...length }).end(body)
}

/** Sends a value as JSON with the entity tag `digest`, or a 304 if the client already has this version. */
export function sendTagged(res: ServerResponse, digest: string, value: () => unknown): void {
  const etag = `"${digest}"`
  if (isNotModified(res.req.headers['if-none-match'], etag))
    res.writeHead(304, { ETag: etag, 'Cache-Control': 'private, no-cache' }).end()
  else sendJson(res, 200, value(), { ETag: etag })
}

/**
 * How many UTF-16 code units of JSON are made before other requests get a turn. This takes less than a millisecond. A single
 * value at DEPTH is never divided, so more can be made at once.
 */
const AT_ONCE = 64 * 1024

/**
 * A value at this depth is converted to JSON in one step. In the answer to a dispatch, these values are the members of a call's
 * result.
 */
const DEPTH = 4

/**
 * Sends a value as JSON in pieces. Each piece is made after the client has taken the piece before it. Between two pieces, other
 * requests are handled: without such pauses, 64 results blocked them for 40 to 500 ms. Resolves when all pieces are written, or
 * when the client has disconnected.
 */
export async function sendInTurns(
  res: ServerResponse,
  value: object,
  headers: Record<string, string>,
  patienceMs = READER_PATIENCE_MS,
): Promise<void> {
  // Node itself has no time limit for a slow write.
  res.setTimeout(patienceMs, () => void res.req.socket.destroy())
  const turns = new Turns()
  let text = ''
  for (const piece of piecesOf(value, 0)) {
    text += piece
    if (text.length < AT_ONCE) continue
    if (!res.headersSent) res.writeHead(200, { ...JSON_HEADERS, ...headers })
    if (!res.write(text)) await eventOrEnd(res, 'drain')
    if (isGone(res)) return
    text = ''
    await turns.give()
  }
  const last = Buffer.from(`${text}\n`)
  if (!res.headersSent)
    res.writeHead(200, { ...JSON_HEADERS, ...headers, 'Content-Length': String(last.length) })
  res.end(last)
}

/** The JSON of a value in pieces. A value at DEPTH is never divided. */
function* piecesOf(value: unknown, depth: number): Generator<string> {
  if (depth === DEPTH || typeof value !== 'object' || value === null || value instanceof JsonText) {
    yield jsonOf(value)
    return
  }
  const isArray = Array.isArray(value)
  const [open, close] = isArray ? ['[', ']'] : ['{', '}']
  let before = open
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    yield isArray ? before : `${before}${JSON.stringify(key)}:`
    yield* piecesOf(member, depth + 1)
    before = ','
  }
  yield before === open ? open + close : close
}
