import type { ServerResponse } from 'node:http'
import { jsonOf } from '../json/json-text.ts'
import { eventOrEnd, isGone, READER_PATIENCE_MS } from './caller.ts'
import { unreadMeter } from './unread-answers.ts'

/**
 * The longest time between two comments in a stream, in milliseconds. Without them, a proxy may take a stream without events for
 * a dead connection, and close it.
 */
const COMMENT_MS_MAX = 15_000

export type StreamTimes = {
  readonly commentMs: number
  readonly unreadMs: number
  /** The text of the comments. */
  readonly comment: string
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // No proxy may keep the stream, compress it or wait for its end.
  'Cache-Control': 'private, no-store, no-transform',
  'X-Accel-Buffering': 'no',
  'X-Content-Type-Options': 'nosniff',
} as const

/** An answer that is a stream of server-sent events. It begins with the first event or with `open`. */
export class EventStream {
  readonly #res: ServerResponse
  readonly #times: StreamTimes
  readonly #count: (bytes: number) => void
  /** A promise until the reader has read what was written. Then undefined. */
  #unread: Promise<void> | undefined
  #comments: NodeJS.Timeout | undefined

  constructor(res: ServerResponse, times: Partial<StreamTimes> = {}) {
    this.#res = res
    const usual = { commentMs: COMMENT_MS_MAX, unreadMs: READER_PATIENCE_MS, comment: 'the call runs' }
    this.#times = { ...usual, ...times }
    this.#count = unreadMeter(res)
  }

  get isOpen(): boolean {
    return this.#comments !== undefined
  }

  /** True if the reader has not yet read what was written. */
  get isBehind(): boolean {
    return this.#unread !== undefined
  }

  /** Begins the answer at once with a comment, although there is no event yet. */
  open(): void {
    if (!this.isOpen) this.#open()
    this.#comment()
  }

  /**
   * Writes an event. If it has an `id`, the reader can later continue the stream after it. If the reader is behind, returns a
   * promise that resolves when the reader has caught up or has disconnected.
   */
  send(event: string, data: unknown, id?: string): Promise<void> | undefined {
    if (!this.isOpen) this.#open()
    return this.#write(`${id === undefined ? '' : `id: ${id}\n`}${textOf(event, data)}`)
  }

  /** Ends the answer without a last event. */
  close(): void {
    clearInterval(this.#comments)
    if (!isGone(this.#res)) this.#res.end()
  }

  /** Writes the last event. If it is also the first one, the answer gets these `headers`. */
  end(event: string, data: unknown, headers: Readonly<Record<string, string>> = {}): void {
    if (!this.isOpen) this.#open(headers)
    clearInterval(this.#comments)
    this.#res.end(textOf(event, data))
    this.#count(this.#res.writableLength)
  }

  #open(headers: Readonly<Record<string, string>> = {}): void {
    const res = this.#res
    this.#comments = setInterval(() => this.#comment(), this.#times.commentMs).unref()
    res.once('close', () => clearInterval(this.#comments))
    // Node itself has no time limit for a slow write.
    res.setTimeout(this.#times.unreadMs, () => {
      if (res.writableLength > 0) res.req.socket.destroy()
    })
    res.writeHead(200, { ...HEADERS, ...headers })
  }

  #comment(): void {
    if (!this.isBehind) void this.#write(`: ${this.#times.comment}\n\n`)
  }

  #write(text: string): Promise<void> | undefined {
    const res = this.#res
    if (isGone(res)) return undefined
    const isTaken = res.write(text)
    this.#count(res.writableLength)
    if (isTaken) return undefined
    this.#unread ??= eventOrEnd(res, 'drain').then(() => {
      this.#unread = undefined
      this.#count(res.writableLength)
    })
    return this.#unread
  }
}

/**
 * The text of an event. A line break in the JSON would end the field, so each is replaced by a space. The value stays the same,
 * because line breaks in JSON can only be white space.
 */
function textOf(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${jsonOf(data).replaceAll(/[\r\n]/g, ' ')}\n\n`
}
