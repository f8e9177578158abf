import { ToolrackError } from '@toolrack/contract'
import { setTimeout } from 'node:timers/promises'
import { FairQueue, type NotRun, type QueueState } from '../../fair-queue.ts'
import { ownTurn, pauseMsAfter, STRETCH_MS } from '../../loop-turn.ts'
import { shareOfHeap, UserBytes } from '../../user-bytes.ts'

/** Bodies up to this size, in bytes, are parsed at once and not counted. So ordinary calls are never refused or delayed. */
export const SMALL_BODY_BYTES = 16 * 1024

/** The largest body that a route accepts, in bytes. */
const LARGEST_BYTES = 1024 * 1024

/** A parsed body was measured at 25 times its bytes. With 1/64 of the heap, bodies take less than 40 % of it. */
const HEAP_SHARE = 1 / 64

/**
 * How long others have a turn, in milliseconds. One turn of the event loop is not enough, because it accepts only one
 * connection: behind 64 other connections, a list on a new connection waited for 32 parses.
 */
const TURN_MS = 5

/** Milliseconds between two refused bodies of one user, who could send the next at once. Discarding 1 MB takes 2 ms. */
const REFUSED_PAUSE_MS = 50
/** The last of so many waits 5 s. A connection on which nothing is read is cut after 30 s. */
const REFUSED_WAITING_MAX = 100

/** The bytes of all bodies together, in a heap up to `heapBytesMax`. One user's half must hold the largest body. */
export function bodyBudget(heapBytesMax?: number): number {
  return shareOfHeap(HEAP_SHARE, 2 * LARGEST_BYTES, heapBytesMax)
}

type Share = { readonly user: string; readonly bytes: number }

/** Bounds the bytes of the bodies in work, because a parsed body takes many times its bytes. One for each server. */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #bytesPerUser: number
  readonly #shares = new Map<object, Share>()
  readonly #bytes = new UserBytes()
  /** A body that waits here has been read, so the bytes bound how many wait. */
  readonly #parses = new FairQueue(
    { places: 1, placesPerUser: 1, waitingPerUser: Infinity, waitingMax: Infinity },
    refusal,
  )

  readonly #refused = new FairQueue(
    { places: Infinity, placesPerUser: 1, waitingPerUser: REFUSED_WAITING_MAX, waitingMax: Infinity },
    refusal,
  )

  /** If the service has several users (`isShared`), each of them has at most half of the bytes. */
  constructor(bytesMax = bodyBudget(), isShared = true) {
    this.#bytesMax = bytesMax
    this.#bytesPerUser = isShared ? Math.max(LARGEST_BYTES, Math.floor(bytesMax / 2)) : bytesMax
  }

  get bytes(): number {
    return this.#bytes.total
  }

  get state(): QueueState & { readonly bytes: number; readonly bytesMax: number } {
    return { ...this.#parses.state, bytes: this.bytes, bytesMax: this.#bytesMax }
  }

  /** Counts a request's body before it is read. Throws SERVICE_BUSY if the bytes of its user, or of all users, become too many. */
  take(request: object, user: string, bytes: number): void {
    if (bytes <= SMALL_BODY_BYTES) return
    if (this.#bytes.of(user) + bytes > this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    if (this.bytes + bytes > this.#bytesMax) throw refusal('full')
    this.#set(request, { user, bytes })
  }

  /** Lowers a request's share to what was read. Before that, only the maximum was known. */
  lower(request: object, bytes: number): void {
    const share = this.#shares.get(request)
    if (share && bytes < share.bytes)
      this.#set(request, { ...share, bytes: bytes <= SMALL_BODY_BYTES ? 0 : bytes })
  }

  /** Frees a request's share when its body is no longer used. Does nothing for a request without a share. */
  giveBack(request: object): void {
    this.lower(request, 0)
  }

  /**
   * Parses one large body at a time, users in turn, and gives other requests a turn before the next one. `parse` may await
   * `giveTurn` to let others go on. A user whose body has blocked others for long has to pause. A body that comes alone does not
   * wait. Rejects with what `parse` throws, and with SERVICE_BUSY if the caller goes before its turn.
   */
  async parseInTurn<Value>(
    user: string,
    signal: AbortSignal | undefined,
    parse: (giveTurn: () => Promise<void>) => Value | Promise<Value>,
  ): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const parseOne = async (): Promise<void> => {
      let sinceMs = processorMs()
      let longestMs = 0
      const endStretch = (): void => void (longestMs = Math.max(longestMs, processorMs() - sinceMs))
      const giveTurn = async (): Promise<void> => {
        endStretch()
        await ownTurn()
        sinceMs = processorMs()
      }
      try {
        resolve(await parse(giveTurn))
      } catch (error) {
        reject(error)
      }
      endStretch()
      const pauseMs = pauseMsAfter(longestMs - STRETCH_MS)
      if (pauseMs > 0) this.#parses.pause(user, pauseMs)
      await setTimeout(TURN_MS, undefined, { ref: false })
    }
    this.#parses.run(user, parseOne, signal).catch(reject)
    return promise
  }

  /** Discards refused bodies of a user in turn. Rejects with SERVICE_BUSY if too many wait, or the caller has gone. */
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

/** The processor time of this thread, so that other programs on a busy machine do not count against a user. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const AGAIN = 'nothing was done. Try again, or send less at a time.'
const USER_FULL = `The service is working on too many large bodies of yours; ${AGAIN}`
const ALL_FULL = `The service is working on too many large bodies; ${AGAIN}`

function refusal(why: NotRun): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', why === 'full' ? ALL_FULL : 'The caller has gone.')
}
