import { ToolrackError } from '@toolrack/contract'
import type { ServerResponse } from 'node:http'
import { shareOfHeap, UserBytes } from '../user-bytes.ts'

/** Answers up to this size, in bytes, are not counted. */
const SMALL_ANSWER_BYTES = 64 * 1024

/** The most unread bytes of one user's answers, in a heap that may grow to `heapBytesMax`. */
export function unreadBudget(heapBytesMax?: number): number {
  return shareOfHeap(1 / 8, 64 * 1024 * 1024, heapBytesMax)
}

export type UnreadState = { readonly bytes: number; readonly users: number; readonly bytesMaxPerUser: number }

/** Limits the memory for large answers that a user has not read yet. Each server has one instance. */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #bytes = new UserBytes()

  constructor(bytesMaxPerUser = unreadBudget()) {
    this.#bytesMax = bytesMaxPerUser
  }

  get state(): UnreadState {
    return { bytes: this.#bytes.total, users: this.#bytes.users, bytesMaxPerUser: this.#bytesMax }
  }

  /** Throws SERVICE_BUSY if the user has too many unread bytes. Called before a request is handled. */
  refuseIfTooMuch(user: string): void {
    if (this.#bytes.of(user) >= this.#bytesMax) throw new ToolrackError('SERVICE_BUSY', TOO_MUCH)
  }

  /**
   * Counts an answer that will be sent, until the client has read it or its connection ends. Throws SERVICE_BUSY for a GET if the
   * user would have too many unread bytes. If the user has no other unread answer, the answer always fits. A method other than
   * GET may have changed something, so the answer to it is always sent.
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

  /** Returns a function that takes the number of unread bytes of an answer. After the answer is closed, it counts none. */
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

/** Stores the user of an answer in the answer itself, so that the code that sends it does not need the user. */
export function answerTo(res: HeldResponse, unread: UnreadAnswers, user: string): void {
  res[HOLDER] = { unread, user }
}

/** Counts an answer with `hold`, if it has a user. */
export function holdAnswer(res: HeldResponse, bytes: number): void {
  res[HOLDER]?.unread.hold(res[HOLDER].user, res, bytes)
}

/**
 * Returns a function that counts an answer that is written in parts, with `meter`. Counts nothing for an answer without a user.
 */
export function unreadMeter(res: HeldResponse): (bytes: number) => void {
  const holder = res[HOLDER]
  return holder ? holder.unread.meter(holder.user, res) : () => undefined
}

const TOO_MUCH =
  'Too many answers wait for you to read them; nothing was done. Read them or close their connections, then try again.'
