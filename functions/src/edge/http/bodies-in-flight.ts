import { ToolrackError } from '@toolrack/contract'
import { setTimeout } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'

/** Bodies up to this size, in bytes, are not counted and are parsed at once: ordinary calls are never refused or delayed. */
export const SMALL_BODY_BYTES = 16 * 1024

/** Twice the largest body that a route takes, in bytes, so that a single request is always taken. */
const BUDGET_BYTES_MIN = 2 * 1024 * 1024

/** A parsed body was measured at 25 times its bytes: with 1/64 of the heap, bodies take less than 40 % of it. */
const HEAP_SHARE = 1 / 64

/**
 * How long others have a turn, in milliseconds. One turn of the event loop is not enough: it accepts a single connection,
 * and a list on a new one was measured to wait for 32 parses behind 64 other connections.
 */
const TURN_MS = 5

/** Bytes that the bodies of all requests together may have in a heap that may grow to `heapBytesMax`; V8's own limit by default. */
export function bodyBudget(heapBytesMax = getHeapStatistics().heap_size_limit): number {
  return Math.max(BUDGET_BYTES_MIN, Math.floor(heapBytesMax * HEAP_SHARE))
}

/**
 * Bounds the bodies that are being read, parsed and worked on at the same time, in bytes, because each of them takes many
 * times its size as a parsed value. There is one for each server, and so one for each process.
 */
export class BodiesInFlight {
  readonly #bytesMax: number
  readonly #shares = new Map<object, number>()
  #bytes = 0
  /** Over when the next large body may be parsed; undefined when one may be now. */
  #turn: Promise<void> | undefined

  constructor(bytesMax = bodyBudget()) {
    this.#bytesMax = bytesMax
  }

  /** Bytes that are taken now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a request's body before it is read. Throws SERVICE_BUSY when it does not fit beside the others. */
  take(request: object, bytes: number): void {
    if (bytes <= SMALL_BODY_BYTES) return
    if (this.#bytes + bytes > this.#bytesMax)
      throw new ToolrackError(
        'SERVICE_BUSY',
        'The service is working on as many large bodies as it takes; nothing was done. Try again, or send less at a time.',
      )
    this.#set(request, bytes)
  }

  /** Lowers a request's share to what was read: before that, only the most that could come was known. */
  lower(request: object, bytes: number): void {
    if (bytes < this.#shareOf(request)) this.#set(request, bytes <= SMALL_BODY_BYTES ? 0 : bytes)
  }

  /** Gives a request's share back, once nothing works on its body any more. Does nothing for a request without a share. */
  giveBack(request: object): void {
    this.#set(request, 0)
  }

  /**
   * Parses one large body at a time, and gives other requests a turn before the next one: a list waits for one parse, however
   * many bodies there are. A body that comes alone does not wait. Rejects with what `parse` throws.
   */
  async parseInTurn<Value>(bytes: number, parse: () => Value): Promise<Value> {
    if (bytes <= SMALL_BODY_BYTES) return parse()
    const before = this.#turn
    const { promise: turn, resolve: end } = Promise.withResolvers<void>()
    this.#turn = turn
    await before
    try {
      return parse()
    } finally {
      void setTimeout(TURN_MS, undefined, { ref: false }).then(() => {
        if (this.#turn === turn) this.#turn = undefined
        end()
      })
    }
  }

  #shareOf(request: object): number {
    return this.#shares.get(request) ?? 0
  }

  #set(request: object, bytes: number): void {
    this.#bytes += bytes - this.#shareOf(request)
    if (bytes > 0) this.#shares.set(request, bytes)
    else this.#shares.delete(request)
  }
}
