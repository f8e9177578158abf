import { ToolrackError } from '@toolrack/contract'
import { setTimeout } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { FairQueue } from '../../fair-queue.ts'
import type { NotRun, QueueState } from '../../fair-queue.ts'
import { ownTurn, STRETCH_MS } from '../../loop-turn.ts'

/** Bodies up to this size, in bytes, are not counted and are parsed at once: ordinary calls are never refused or delayed. */
export const SMALL_BODY_BYTES = 16 * 1024

/** The largest body that a route takes, in bytes. */
const LARGEST_BYTES = 1024 * 1024
/** So that one user's half of it holds the largest body. */
const BUDGET_BYTES_MIN = 2 * LARGEST_BYTES

/** A parsed body was measured at 25 times its bytes: with 1/64 of the heap, bodies take less than 40 % of it. */
const HEAP_SHARE = 1 / 64

/**
 * How long others have a turn, in milliseconds. One turn of the event loop is not enough: it accepts a single connection,
 * and a list on a new one was measured to wait for 32 parses behind 64 other connections.
 */
const TURN_MS = 5

/**
 * For each millisecond that a parse has blocked all others beyond STRETCH_MS, its user parses nothing large for so many: then
 * less than one request in 16 of others meets such a parse. What blocks for less is not put off.
 */
const PAUSE_FACTOR = 16
const PAUSE_MS_MAX = 1_000

/** Bytes that the bodies of all requests together may have in a heap that may grow to `heapBytesMax`; V8's own limit by default. */
export function bodyBudget(heapBytesMax = getHeapStatistics().heap_size_limit): number {
  return Math.max(BUDGET_BYTES_MIN, Math.floor(heapBytesMax * HEAP_SHARE))
}

/**
 * Milliseconds between two refused bodies of one user: reading 1 MB in order to throw it away takes 2 ms, and who is refused at
 * once sends the next at once.
 */
const REFUSED_PAUSE_MS = 50
/** The last of them waits 5 s, and a connection on which nothing is read is cut after 30 s. */
const REFUSED_WAITING_MAX = 100

type Share = { readonly user: string; readonly bytes: number }

/** What is read and parsed now, of all users. */
export type BodiesState = QueueState & { readonly bytes: number; readonly bytesMax: number }

/**
 * Bounds the bodies that are being read, parsed and worked on at the same time, in bytes, because each of them takes many
 * times its size as a parsed value. There is one for each server, and so one for each process.
 */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #bytesPerUser: number
  readonly #shares = new Map<object, Share>()
  readonly #bytesOf = new Map<string, number>()
  #bytes = 0
  /** What waits has been read, so the bytes bound how many wait. */
  readonly #parses = new FairQueue(
    { places: 1, placesPerUser: 1, waitingPerUser: Infinity, waitingMax: Infinity },
    refusal,
  )

  readonly #refused = new FairQueue(
    { places: Infinity, placesPerUser: 1, waitingPerUser: REFUSED_WAITING_MAX, waitingMax: Infinity },
    refusal,
  )

  /** Where the service has several users (`isShared`), one of them has at most half of the bytes. */
  constructor(bytesMax = bodyBudget(), isShared = true) {
    this.#bytesMax = bytesMax
    this.#bytesPerUser = isShared ? Math.max(LARGEST_BYTES, Math.floor(bytesMax / 2)) : bytesMax
  }

  /** Bytes that are taken now. */
  get bytes(): number {
    return this.#bytes
  }

  get state(): BodiesState {
    return { ...this.#parses.state, bytes: this.#bytes, bytesMax: this.#bytesMax }
  }

  /** Counts a request's body before it is read. Throws SERVICE_BUSY when it does not fit beside its user's others, or beside all. */
  take(request: object, user: string, bytes: number): void {
    if (bytes <= SMALL_BODY_BYTES) return
    if (this.#usedBy(user) + bytes > this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    if (this.#bytes + bytes > this.#bytesMax) throw refusal('full')
    this.#set(request, { user, bytes })
  }

  /** Lowers a request's share to what was read: before that, only the most that could come was known. */
  lower(request: object, bytes: number): void {
    const share = this.#shares.get(request)
    if (share && bytes < share.bytes)
      this.#set(request, { ...share, bytes: bytes <= SMALL_BODY_BYTES ? 0 : bytes })
  }

  /** Gives a request's share back, once nothing works on its body any more. Does nothing for a request without a share. */
  giveBack(request: object): void {
    const share = this.#shares.get(request)
    if (share) this.#set(request, { ...share, bytes: 0 })
  }

  /**
   * Parses one large body at a time, users in turn, and gives other requests a turn before the next one. `parse` is given what
   * it may wait for in between, so that others go on. Who has blocked others for long is put off. A body that comes alone does
   * not wait. Rejects with what `parse` throws, and with SERVICE_BUSY when the caller has gone before.
   */
  async parseInTurn<Value>(
    user: string,
    signal: AbortSignal | undefined,
    parse: (giveTurn: () => Promise<void>) => Value | Promise<Value>,
  ): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const parseOne = async (): Promise<void> => {
      const stretch = new Stretch()
      try {
        resolve(await parse(() => stretch.giveTurn()))
      } catch (error) {
        reject(error)
      }
      const tooLongMs = stretch.end() - STRETCH_MS
      if (tooLongMs > 0) this.#parses.pause(user, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
      await setTimeout(TURN_MS, undefined, { ref: false })
    }
    this.#parses.run(user, parseOne, { signal }).catch(reject)
    return promise
  }

  /**
   * Has the refused bodies of a user thrown away one after another, whatever time each takes. Rejects with SERVICE_BUSY, and
   * throws nothing away, where too many wait for that and when the caller has gone.
   */
  async discardInTurn(
    user: string,
    signal: AbortSignal | undefined,
    discard: () => Promise<void>,
  ): Promise<void> {
    await this.#refused.run(user, () => this.#refused.pause(user, REFUSED_PAUSE_MS), { signal })
    await discard()
  }

  #usedBy(user: string): number {
    return this.#bytesOf.get(user) ?? 0
  }

  #set(request: object, share: Share): void {
    const { user, bytes } = share
    const more = bytes - (this.#shares.get(request)?.bytes ?? 0)
    this.#bytes += more
    const used = this.#usedBy(user) + more
    if (used > 0) this.#bytesOf.set(user, used)
    else this.#bytesOf.delete(user)
    if (bytes > 0) this.#shares.set(request, share)
    else this.#shares.delete(request)
  }
}

/**
 * Measures how long a piece of work has kept the thread from others at most, in processor time: on a busy machine the time of
 * other programs must not count against a user.
 */
class Stretch {
  #startMs = processorMs()
  #longestMs = 0

  async giveTurn(): Promise<void> {
    this.end()
    await ownTurn()
    this.#startMs = processorMs()
  }

  /** The longest stretch so far, in milliseconds. */
  end(): number {
    this.#longestMs = Math.max(this.#longestMs, processorMs() - this.#startMs)
    return this.#longestMs
  }
}

/** What this thread has used so far. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const USER_FULL =
  'The service is working on as many large bodies of yours as it takes; nothing was done. Try again, or send less at a time.'
const ALL_FULL =
  'The service is working on as many large bodies as it takes; nothing was done. Try again, or send less at a time.'

function refusal(why: NotRun): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', why === 'full' ? ALL_FULL : 'The caller has gone.')
}
