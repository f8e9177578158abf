import { ToolrackError } from '@toolrack/contract'
import type { ServerResponse } from 'node:http'
import { shareOfHeap, UserBytes } from '../user-bytes.ts'

/** Answers up to this size, in bytes, are not counted. */
const SMALL_ANSWER_BYTES = 64 * 1024

/** The most bytes of unread answers of one user, if the heap may grow to `heapBytesMax`. */
export function unreadBudget(heapBytesMax?: number): number {
  return shareOfHeap(1 / 8, 64 * 1024 * 1024, heapBytesMax)
}

export type UnreadState = { readonly bytes: number; readonly users: number; readonly bytesMaxPerUser: number }

/** Limits the memory for large answers that their users have not read yet. Each server has one instance. */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #bytes = new UserBytes()

  constructor(bytesMaxPerUser = unreadBudget()) {
    this.#bytesMax = bytesMaxPerUser
  }

  get state(): UnreadState {
    return { bytes: this.#bytes.total, users: this.#bytes.users, bytesMaxPerUser: this.#bytesMax }
  }

  /** Throws SERVICE_BUSY if the user has too many bytes of unread answers. Called before a request is handled. */
  refuseIfTooMuch(user: string): void {
    if (this.#bytes.of(user) >= this.#bytesMax) throw new ToolrackError('SERVICE_BUSY', TOO_MUCH)
  }

  /**
   * Counts the bytes of an answer until the client has read it or the connection ends. Throws SERVICE_BUSY for a GET if the user
   * would then have too many unread bytes. The only unread answer of a user is never refused, nor is the answer to another method
   * than GET, which may have changed something.
   */
  hold(user: string, res: ServerResponse, bytes: number): void {
    if (bytes <= SMALL_ANSWER_BYTES) return
    const used = this.#bytes.of(user)
    if (res.req.method === 'GET' && used > 0 && used + bytes > this.#bytesMax)
      throw new ToolrackError('SERVICE_BUSY', TOO_MUCH)
    // If the client has already disconnected, nothing is kept, and no 'close' will come.
    if (res.closed || res.destroyed) return
    this.#bytes.add(user, bytes)
    res.once('close', () => this.#bytes.add(user, -bytes))
  }

  /**
   * Returns a function that is told how many bytes of an answer are unread. When the answer is closed, none are counted any more.
   */
  meter(user: string, res: ServerResponse): (bytes: number) => void {
    let counted = 0
    const count = (bytes: number): void => {
      const held = bytes <= SMALL_ANSWER_BYTES || res.closed || res.destroyed ? 0 : bytes
      this.#bytes.add(user, held - counted)
      counted = held
    }
    res.once('close', () => count(0))
    return count
  }
}

const HOLDER = Symbol('holder')

type HeldResponse = ServerResponse & {
  [HOLDER]?: { readonly unread: UnreadAnswers; readonly user: string }
}

/** Stores in an answer which user gets it, so that the code that sends the answer does not need to know the user. */
export function answerTo(res: HeldResponse, unread: UnreadAnswers, user: string): void {
  res[HOLDER] = { unread, user }
}

/** Counts an answer with `hold`. Does nothing for an answer without a user. */
export function holdAnswer(res: HeldResponse, bytes: number): void {
  res[HOLDER]?.unread.hold(res[HOLDER].user, res, bytes)
}

/**
 * Returns a function that counts an answer with `meter`, for answers that are written in parts. Counts nothing for an answer
 * without a user.
 */
export function unreadMeter(res: HeldResponse): (bytes: number) => void {
  const holder = res[HOLDER]
  return holder ? holder.unread.meter(holder.user, res) : () => undefined
}

const TOO_MUCH =
  'Too many answers wait for you to read them; nothing was done. Read them or close their connections, then try again.'
