import { ToolrackError } from '@toolrack/contract'
import type { ServerResponse } from 'node:http'
import { shareOfHeap, UserBytes } from '../../user-bytes.ts'

/** Answers up to this size, in bytes, are not counted. */
const SMALL_ANSWER_BYTES = 64 * 1024

/** How many bytes of answers may wait for one user's readers, in a heap that may grow to `heapBytesMax`. */
export function unreadBudget(heapBytesMax?: number): number {
  return shareOfHeap(1 / 8, 64 * 1024 * 1024, heapBytesMax)
}

/** The bytes of all users, and the most that one user may have. */
export type UnreadState = { readonly bytes: number; readonly users: number; readonly bytesMaxPerUser: number }

/** Bounds the bytes of large answers that each user has not read yet, because they are in memory. One for each server. */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #bytes = new UserBytes()

  constructor(bytesMaxPerUser = unreadBudget()) {
    this.#bytesMax = bytesMaxPerUser
  }

  get state(): UnreadState {
    return { bytes: this.#bytes.total, users: this.#bytes.users, bytesMaxPerUser: this.#bytesMax }
  }

  /** Throws SERVICE_BUSY while too many bytes wait for the user's readers. Called before a request is handled. */
  refuseIfTooMuch(user: string): void {
    if (this.#bytes.of(user) >= this.#bytesMax) throw new ToolrackError('SERVICE_BUSY', TOO_MUCH)
  }

  /**
   * Counts the bytes of an answer from before it is sent until it is read or its connection ends. Throws SERVICE_BUSY for a GET
   * if the user's answers become too large together. Other methods have changed something, so their answers are always sent. An
   * answer that comes alone always fits.
   */
  hold(user: string, res: ServerResponse, bytes: number): void {
    if (bytes <= SMALL_ANSWER_BYTES) return
    const used = this.#bytes.of(user)
    if (res.req.method === 'GET' && used > 0 && used + bytes > this.#bytesMax)
      throw new ToolrackError('SERVICE_BUSY', TOO_MUCH)
    // The answer of a reader who has already gone is not kept, and there will be no other event.
    if (res.closed || res.destroyed) return
    this.#bytes.add(user, bytes)
    res.once('close', () => this.#bytes.add(user, -bytes))
  }
}

const HOLDER = Symbol('holder')

/** An answer with its user, and with the object that counts it. */
type HeldResponse = ServerResponse & {
  [HOLDER]?: { readonly unread: UnreadAnswers; readonly user: string }
}

/** Records whose answer it is, so that the code that sends it need not know. */
export function answerTo(res: HeldResponse, unread: UnreadAnswers, user: string): void {
  res[HOLDER] = { unread, user }
}

/** Counts an answer for its user. An answer without a user is not counted. Throws what `hold` throws. */
export function holdAnswer(res: HeldResponse, bytes: number): void {
  res[HOLDER]?.unread.hold(res[HOLDER].user, res, bytes)
}

const TOO_MUCH =
  'Too many answers wait for you to read them; nothing was done. Read them or close their connections, then try again.'
