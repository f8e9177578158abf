import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { jsonOf, JsonText } from '../../tools/json/json-text.ts'
import { JSON_HEADERS } from './send-json.ts'

/** UTF-16 code units that are made JSON at once: less than a millisecond; a single text may be larger. */
const AT_ONCE = 64 * 1024

/** Where the values of a dispatched call's result stand: results, item, result, member. Deeper ones are written at once. */
const DEPTH = 4

/**
 * Sends a value as `sendJson` does, but lets others have a turn while it is made JSON, and makes no more than its reader
 * takes. Results of 64 calls took 40 to 500 ms at once. Resolves when all is handed on, or the reader has gone.
 */
export async function sendInTurns(
  res: ServerResponse,
  value: object,
  headers: Record<string, string>,
): Promise<void> {
  let text = ''
  for (const piece of piecesOf(value, 0)) {
    text += piece
    if (text.length < AT_ONCE) continue
    if (!res.headersSent) res.writeHead(200, { ...JSON_HEADERS, ...headers })
    if (!res.write(text)) await drained(res)
    if (res.destroyed) return
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
function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const events = ['drain', 'close'] as const
  for (const event of events) res.once(event, resolve)
  return promise.finally(() => events.forEach((event) => res.off(event, resolve)))
}
