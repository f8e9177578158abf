import { ToolrackError } from '@toolrack/contract'
import type { ServerResponse } from 'node:http'
import { getHeapStatistics } from 'node:v8'

/** Answers up to this size, in bytes, are not counted. */
export const SMALL_ANSWER_BYTES = 64 * 1024

const PER_USER_BYTES_MIN = 64 * 1024 * 1024
const HEAP_SHARE = 1 / 8

/** Bytes of answers that may wait for one user's readers in a heap that may grow to `heapBytesMax`; V8's own limit by default. */
export function unreadBudget(heapBytesMax = getHeapStatistics().heap_size_limit): number {
  return Math.max(PER_USER_BYTES_MIN, Math.floor(heapBytesMax * HEAP_SHARE))
}

/** Bytes of all users, and what one of them may have. */
export type UnreadState = { readonly bytes: number; readonly users: number; readonly bytesMaxPerUser: number }

/**
 * Bounds the large answers that wait until their readers take them, in bytes for each user: an answer is in memory until its
 * reader has taken it, and a reader may take nothing. There is one for each server.
 */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #bytesOf = new Map<string, number>()

  constructor(bytesMaxPerUser = unreadBudget()) {
    this.#bytesMax = bytesMaxPerUser
  }

  get state(): UnreadState {
    let bytes = 0
    for (const own of this.#bytesOf.values()) bytes += own
    return { bytes, users: this.#bytesOf.size, bytesMaxPerUser: this.#bytesMax }
  }

  /** Throws SERVICE_BUSY while as much waits for the user's readers as may; before a request is worked on. */
  refuseIfTooMuch(user: string): void {
    if (this.#usedBy(user) >= this.#bytesMax) throw tooMuch()
  }

  /**
   * Counts an answer of so many bytes before it is sent, until it is taken or its connection ends. Throws SERVICE_BUSY for a GET
   * whose answer does not fit beside its user's others. What was done for another method is not undone, so its answer is counted
   * in any case. An answer that comes alone always fits.
   */
  hold(user: string, res: ServerResponse, bytes: number): void {
    if (bytes <= SMALL_ANSWER_BYTES) return
    const used = this.#usedBy(user)
    if (res.req.method === 'GET' && used > 0 && used + bytes > this.#bytesMax) throw tooMuch()
    // No event tells any more of a reader that has gone already, and nothing waits for it.
    if (res.closed || res.destroyed) return
    this.#add(user, bytes)
    res.once('close', () => this.#add(user, -bytes))
  }

  #usedBy(user: string): number {
    return this.#bytesOf.get(user) ?? 0
  }

  #add(user: string, bytes: number): void {
    const used = this.#usedBy(user) + bytes
    if (used > 0) this.#bytesOf.set(user, used)
    else this.#bytesOf.delete(user)
  }
}

type Holder = { readonly unread: UnreadAnswers; readonly user: string }
const HOLDERS = new WeakMap<ServerResponse, Holder>()

/** Tells whose answer it is, so that what sends it need not know. */
export function answerTo(res: ServerResponse, holder: Holder): void {
  HOLDERS.set(res, holder)
}

/** Counts an answer as its user's; nobody's, where nobody was told. Throws what `hold` throws. */
export function holdAnswer(res: ServerResponse, bytes: number): void {
  if (bytes <= SMALL_ANSWER_BYTES) return
  const holder = HOLDERS.get(res)
  holder?.unread.hold(holder.user, res, bytes)
}

function tooMuch(): ToolrackError {
  return new ToolrackError(
    'SERVICE_BUSY',
    'Too many answers wait for you to read them; nothing was done. Read them or close their connections, then try again.',
  )
}
