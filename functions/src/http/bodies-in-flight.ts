import { ToolrackError } from '@toolrack/contract'
import { setTimeout } from 'node:timers/promises'
import { FairQueue, type QueueState } from '../fair-queue.ts'
import { pauseMsAfter, STRETCH_MS, Turns, type Pieces } from '../loop-turn.ts'
import { shareOfHeap, UserBytes } from '../user-bytes.ts'

/** Bodies up to this size, in bytes, are parsed at once and not counted, so ordinary calls are never refused or delayed. */
export const SMALL_BODY_BYTES = 16 * 1024

/** The largest body that a route accepts, in bytes. */
const LARGEST_BYTES = 1024 * 1024

/**
 * The fraction of the heap that bodies may take. A parsed body takes 25 times its bytes (measured), so all of them together take
 * less than 40 % of the heap.
 */
const HEAP_SHARE = 1 / 64

/**
 * The pause between two parses, in milliseconds. One turn of the event loop would be too short, because only one connection is
 * accepted in a turn: a list on a new connection, behind 64 other connections, had to wait for 32 parses.
 */
const TURN_MS = 5

/**
 * The least time between two refused bodies of a user, in milliseconds. The user could send the next one at once, and to discard
 * 1 MB takes 2 ms.
 */
const REFUSED_PAUSE_MS = 50
/**
 * The most refused bodies of a user that may wait to be discarded. The last one waits 5 s. A connection is closed only after 30 s
 * without a read.
 */
const REFUSED_WAITING_MAX = 100

/**
 * The fraction of these bytes that one user may use. With a half, two accounts whose calls take long could leave nothing for all
 * other users.
 */
const USER_SHARE = 1 / 4

/** The most bytes of all bodies together, if the heap may grow to `heapBytesMax`. They hold the largest body twice. */
export function bodyBudget(heapBytesMax?: number): number {
  return shareOfHeap(HEAP_SHARE, 2 * LARGEST_BYTES, heapBytesMax)
}

/** Each queue handles one body of a user at a time: one parses bodies, the other discards refused bodies. */
const ONE_PER_USER = { placesPerUser: 1, waitingMax: Infinity }

type Share = { readonly user: string; readonly bytes: number }

/**
 * Limits the bytes of all bodies in use, because a parsed body takes many times its bytes in memory. Each server has one
 * instance.
 */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #bytesPerUser: number
  readonly #shares = new Map<object, Share>()
  readonly #bytes = new UserBytes()
  /** The queue of bodies to parse. Their bytes are counted before they wait, so the limit of bytes also limits how many wait. */
  readonly #parses = new FairQueue({ ...ONE_PER_USER, places: 1, waitingPerUser: Infinity }, refusal)

  readonly #refused = new FairQueue(
    { ...ONE_PER_USER, places: Infinity, waitingPerUser: REFUSED_WAITING_MAX },
    refusal,
  )

  /** If the service has several users (`isShared`), each of them has a quarter of the bytes, or the largest body. */
  constructor(bytesMax = bodyBudget(), isShared = true) {
    this.#bytesMax = bytesMax
    this.#bytesPerUser = isShared ? Math.max(LARGEST_BYTES, Math.floor(bytesMax * USER_SHARE)) : bytesMax
  }

  get state(): QueueState & { readonly bytes: number; readonly bytesMax: number } {
    return { ...this.#parses.state, bytes: this.#bytes.total, bytesMax: this.#bytesMax }
  }

  /** Counts a request's body before it is read. Throws SERVICE_BUSY if its user, or all users together, have too many bytes. */
  take(request: object, user: string, bytes: number): void {
    if (bytes <= SMALL_BODY_BYTES) return
    if (this.#bytes.of(user) + bytes > this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    if (this.#bytes.total + bytes > this.#bytesMax) throw refusal()
    this.#set(request, { user, bytes })
  }

  /** Counts fewer bytes for a request when its body has been read. Before that, the most bytes that can come are counted. */
  lower(request: object, bytes: number): void {
    const share = this.#shares.get(request)
    if (share && bytes < share.bytes)
      this.#set(request, { ...share, bytes: bytes <= SMALL_BODY_BYTES ? 0 : bytes })
  }

  /** Counts no more bytes for a request. To be called when the request's body is no longer used. */
  giveBack(request: object): void {
    this.lower(request, 0)
  }

  /**
   * Parses one large body at a time. The users take turns. Other requests are handled between two bodies, and also during a
   * parse. If a body has blocked other requests for too long, the next body of the same user waits. A body that comes alone never
   * waits. Rejects with the error of the parse, or with CANCELLED if the caller disconnects before the end of the parse.
   */
  async parseInTurn<Value>(
    user: string,
    signal: AbortSignal | undefined,
    pieces: Pieces<Value>,
  ): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const parseOne = async (): Promise<void> => {
      const turns = new Turns(signal)
      await turns.run(pieces).then(resolve, reject)
      const pauseMs = pauseMsAfter(turns.longestMs - STRETCH_MS)
      if (pauseMs > 0) this.#parses.pause(user, pauseMs)
      await setTimeout(TURN_MS, undefined, { ref: false })
    }
    this.#parses.run(user, parseOne, signal).catch(reject)
    return promise
  }

  /**
   * Discards the refused bodies of a user one by one. Rejects with SERVICE_BUSY if too many of them wait, and with CANCELLED if
   * the caller disconnects.
   */
  async discardInTurn(
    user: string,
    signal: AbortSignal | undefined,
    discard: () => Promise<void>,
  ): Promise<void> {
    await this.#refused.run(user, () => this.#refused.pause(user, REFUSED_PAUSE_MS), signal)
    await discard()
  }

  #set(request: object, share: Share): void {
    this.#bytes.add(share.user, share.bytes - (this.#shares.get(request)?.bytes ?? 0))
    if (share.bytes > 0) this.#shares.set(request, share)
    else this.#shares.delete(request)
  }
}

const AGAIN = 'nothing was done. Try again, or send less at a time.'
const USER_FULL = `The service is working on too many large bodies of yours; ${AGAIN}`
const ALL_FULL = `The service is working on too many large bodies; ${AGAIN}`

function refusal(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', ALL_FULL)
}
