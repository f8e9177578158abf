import { setImmediate } from 'node:timers'
import { processorMs } from './processor-time.ts'

/** Milliseconds that work may take before other requests get a turn. */
export const STRETCH_MS = 5

/**
 * Milliseconds of pause for each millisecond of too long work. With 16, a user delays less than 1 in 16 requests of other users.
 */
const PAUSE_FACTOR = 16
/** The longest pause, in milliseconds, of a user whose work has blocked all others for too long. */
const PAUSE_MS_MAX = 1_000

/** Milliseconds that a user must pause after work that has blocked other requests for `tooLongMs` more than the time allowed. */
export function pauseMsAfter(tooLongMs: number): number {
  return Math.max(0, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
}

/**
 * Long work as a generator, which yields where other requests may get a turn. Between two yields it awaits nothing. It keeps what
 * is done, so it begins nothing again after a turn. It may be ended at any `yield`, so shared data must be consistent there.
 */
export type Pieces<Result> = Generator<undefined, Result, undefined>

/** Runs the whole work without a turn, for work that is known to be short. */
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

  /** `signal` is aborted when the caller has left. Without a signal, the work always goes on to its end. */
  constructor(signal?: AbortSignal, stretchMs = STRETCH_MS) {
    this.#signal = signal
    this.#stretchMs = stretchMs
  }

  /** The longest time for which `run` has blocked other requests, in milliseconds of processor time. */
  get longestMs(): number {
    return this.#longestMs
  }

  /** Runs the work to its end, and gives turns at its yields. Rejects with the reason of the signal if the caller leaves. */
  async run<Result>(pieces: Pieces<Result>): Promise<Result> {
    for (;;) {
      this.#signal?.throwIfAborted()
      const piece = this.#stretch(pieces)
      if (piece.done) return piece.value
      await this.#turn()
    }
  }

  /** For work that awaits other things too: true if it must await `give` before it goes on. */
  get isDue(): boolean {
    return this.#isLong || this.#signal?.aborted === true
  }

  /** Gives a turn. Rejects with the reason of the signal if the caller leaves. */
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

  /** Runs the work until it ends or others should have a turn. */
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

/** The work that waits for a turn, in the order of its arrival. The process has one event loop, so it has one queue of turns. */
const waiting: Waiting[] = []
let isLongestWaiting = false

/**
 * Resolves in a later turn of the event loop. Each caller gets a different turn, so a request waits for one caller at most. Every
 * second turn is for the work that has used the least time. So a short list is soon ready, however many long lists there are. The
 * other turns are for the work that has waited longest, so that all work goes on.
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
