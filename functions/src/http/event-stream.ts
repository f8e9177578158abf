import type { ServerResponse } from 'node:http'
import { jsonOf } from '../json/json-text.ts'
import { eventOrEnd, isGone, READER_PATIENCE_MS } from './caller.ts'
import { unreadMeter } from './unread-answers.ts'

/** Milliseconds between two comments. They keep proxies from taking a stream without events for a dead connection. */
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
  /** Pending while the reader has not read what was written. */
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

  /** Begins the answer with a comment, before there is an event. */
  open(): void {
    if (!this.isOpen) this.#open()
    this.#comment()
  }

  /**
   * Writes an event. Its reader can later go on from the `id`. If the reader is behind, returns a promise that resolves when the
   * reader has caught up or has gone.
   */
  send(event: string, data: unknown, id?: string): Promise<void> | undefined {
    if (!this.isOpen) this.#open()
    return this.#write(`${id === undefined ? '' : `id: ${id}\n`}${textOf(event, data)}`)
  }

  /** Ends an answer that has no last event. */
  close(): void {
    clearInterval(this.#comments)
    if (!isGone(this.#res)) this.#res.end()
  }

  /** Writes the last event. If it is the only event, the answer has `headers` too. */
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
 * The text of an event. Line breaks in the JSON are replaced by spaces, because a line break would end the field. In JSON they can only be
 * white space, so the value stays the same.
 */
function textOf(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${jsonOf(data).replaceAll(/[\r\n]/g, ' ')}\n\n`
}
