import { setImmediate } from 'node:timers'
import { processorMs } from './processor-time.ts'

/** How many milliseconds work may run before other requests get a turn. */
export const STRETCH_MS = 5

/**
 * How many milliseconds a user must pause for each millisecond that their work ran too long. With 16, the work of a user delays
 * less than 1 in 16 requests of other users.
 */
const PAUSE_FACTOR = 16
/** The longest such pause, in milliseconds. */
const PAUSE_MS_MAX = 1_000

/**
 * How many milliseconds a user must pause, after work of theirs ran `tooLongMs` milliseconds longer than is allowed without a
 * turn.
 */
export function pauseMsAfter(tooLongMs: number): number {
  return Math.max(0, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
}

/**
 * Long work, written as a generator. It yields wherever other requests may get a turn, and awaits nothing. It continues after a
 * turn where it was. It may be ended at any `yield`, so shared data must be consistent there.
 */
export type Pieces<Result> = Generator<undefined, Result, undefined>

/** Runs the whole work without giving a turn. Only for work that is known to be short. */
export function atOnce<Result>(pieces: Pieces<Result>): Result {
  let piece = pieces.next()
  while (!piece.done) piece = pieces.next()
  return piece.value
}

/** Lets other requests have a turn during the long work of one caller, and ends the work when the caller has left. */
export class Turns {
  readonly #signal: AbortSignal | undefined
  readonly #stretchMs: number
  #sinceMs = performance.now()
  #usedMs = 0
  #longestMs = 0

  /** `signal` is aborted when the caller has left, which ends the work. Without a signal, the work always runs to its end. */
  constructor(signal?: AbortSignal, stretchMs = STRETCH_MS) {
    this.#signal = signal
    this.#stretchMs = stretchMs
  }

  /** The longest time for which `run` has blocked other requests without a turn, in milliseconds of processor time. */
  get longestMs(): number {
    return this.#longestMs
  }

  /**
   * Runs the work to its end, and gives other requests turns at its yields. If the caller leaves, rejects with the reason of the
   * signal.
   */
  async run<Result>(pieces: Pieces<Result>): Promise<Result> {
    for (;;) {
      this.#signal?.throwIfAborted()
      const piece = this.#stretch(pieces)
      if (piece.done) return piece.value
      await this.#turn()
    }
  }

  /**
   * For work that is not a generator, because it awaits other things too. True if the work must now await `give` before it
   * continues.
   */
  get isDue(): boolean {
    return this.#isLong || this.#signal?.aborted === true
  }

  /** Gives other requests a turn. If the caller leaves, rejects with the reason of the signal. */
  async give(): Promise<void> {
    await this.#turn()
    this.#signal?.throwIfAborted()
  }

  get #isLong(): boolean {
    return performance.now() - this.#sinceMs > this.#stretchMs
  }

  async #turn(): Promise<void> {
    await ownTurn(this.#usedMs)
    this.#sinceMs = performance.now()
  }

  /** Runs the work until it ends, or until other requests should get a turn. */
  #stretch<Result>(pieces: Pieces<Result>): IteratorResult<undefined, Result> {
    const fromMs = processorMs()
    try {
      let piece = pieces.next()
      while (!piece.done && !this.#isLong) piece = pieces.next()
      return piece
    } finally {
      const tookMs = processorMs() - fromMs
      this.#usedMs += tookMs
      this.#longestMs = Math.max(this.#longestMs, tookMs)
    }
  }
}

type Waiting = { readonly usedMs: number; readonly begin: () => void }

/**
 * The work that has given others a turn and waits to continue, in the order of arrival. There is one queue, because the process
 * has one event loop.
 */
const waiting: Waiting[] = []
let isLongestWaiting = false

/**
 * Resolves when the work may continue, which is in a later turn of the event loop. Only one work continues in each turn, so a new
 * request waits for one at most. Every second turn is for the work that has used the least time, so a short list is soon ready,
 * however many long lists there are. The other turns are for the work that has waited longest, so all work gets to its end.
 */
function ownTurn(usedMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (waiting.push({ usedMs, begin: resolve }) === 1) setImmediate(beginNext)
  return promise
}

function beginNext(): void {
  isLongestWaiting = !isLongestWaiting
  const [next] = waiting.splice(isLongestWaiting ? 0 : placeOfLeastUsed(), 1)
  next?.begin()
  if (waiting.length > 0) setImmediate(beginNext)
}

function placeOfLeastUsed(): number {
  let least = 0
  for (const [place, { usedMs }] of waiting.entries())
    if (usedMs < (waiting[least]?.usedMs ?? 0)) least = place
  return least
}
