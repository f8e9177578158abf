import { setImmediate } from 'node:timers/promises'

/** Milliseconds that work may take before other requests get a turn. */
export const STRETCH_MS = 5

/**
 * Milliseconds of pause for each millisecond of too long work. With 16, a user delays less than 1 in 16 requests of other users.
 */
const PAUSE_FACTOR = 16
const PAUSE_MS_MAX = 1_000

/** Milliseconds that a user must pause after work that has blocked other requests for `tooLongMs` more than the time allowed. */
export function pauseMsAfter(tooLongMs: number): number {
  return Math.max(0, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
}

/** The last turn that was given. The process has one event loop, so it has one queue of turns. */
let last = Promise.resolve()

/** Resolves in a later turn of the event loop. Each caller gets another turn, so a request waits for one caller at most. */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** Work in many pieces that never await anything. Without turns between the pieces, other requests would wait for all pieces. */
export class LongWork {
  #sinceMs = performance.now()

  /** True if other requests should have a turn before the next piece. */
  get isLong(): boolean {
    return performance.now() - this.#sinceMs > STRETCH_MS
  }

  async giveTurn(): Promise<void> {
    await ownTurn()
    this.#sinceMs = performance.now()
  }
}
