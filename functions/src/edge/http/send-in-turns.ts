import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { jsonOf, JsonText } from '../../tools/json/json-text.ts'
import { JSON_HEADERS } from './send-json.ts'

/** UTF-16 code units that are made JSON at once: less than a millisecond; a single text may be larger. */
const AT_ONCE = 64 * 1024

/** Where the values of a dispatched call's result stand: results, item, result, member. Deeper ones are written at once. */
const DEPTH = 4

/** How long a reader may take nothing, in milliseconds: then its connection is cut, and what is held for it is let go. */
const READER_PATIENCE_MS = 30_000

/**
 * Sends a value as `sendJson` does, but lets others have a turn while it is made JSON, and makes no more than its reader
 * takes. Results of 64 calls took 40 to 500 ms at once. Resolves when all is handed on, or the reader has gone.
 */
export async function sendInTurns(
  res: ServerResponse,
  value: object,
  headers: Record<string, string>,
  patienceMs = READER_PATIENCE_MS,
): Promise<void> {
  // Node does not count the time in which a write goes on, however slowly.
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
  if (!res.headersSent) {
    const body = Buffer.from(`${text}\n`)
    res.writeHead(200, { ...JSON_HEADERS, ...headers, 'Content-Length': String(body.length) })
    res.end(body)
  } else res.end(`${text}\n`)
}

/** The JSON of a value in pieces, none larger than one value of its DEPTH. */
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

/** Waits until the reader takes more, or has gone. */
async function drained(res: ServerResponse): Promise<void> {
  if (!isGone(res)) await firstOf(res, 'drain')
}

/** Resolves when all of an answer has been taken, or the reader has gone. Ask before the answer is ended. */
export async function whenOver(res: ServerResponse): Promise<void> {
  if (!isGone(res) && !res.writableFinished) await firstOf(res, 'finish')
}

function isGone(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed
}

/** An answer that waits behind another one on its connection hears nothing of its end: the connection tells. */
function firstOf(res: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { socket } = res.req
  res.once(event, resolve).once('close', resolve)
  socket.once('close', resolve)
  return promise.finally(() => {
    res.off(event, resolve).off('close', resolve)
    socket.off('close', resolve)
  })
}
