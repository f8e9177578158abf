import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which others get a turn. */
export const STRETCH_MS = 5

/**
 * For each millisecond by which a user's work has blocked others too long, the user starts nothing new for 16 ms. Then such work
 * delays less than one in 16 requests of other users.
 */
const PAUSE_FACTOR = 16
const PAUSE_MS_MAX = 1_000

/** How long a user has to pause after work that has blocked others for so many milliseconds too long. */
export function pauseMsAfter(tooLongMs: number): number {
  return Math.max(0, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
}

/** The process has one event loop, so it has one queue of turns. */
let last = Promise.resolve()

/** Resolves in a later turn of the event loop, a different one for each caller, so that others wait for only one. */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** Work in many pieces that never wait for anything. Without turns in between, others would wait for all of it. */
export class LongWork {
  #sinceMs = performance.now()

  /** True if others should have a turn before the next piece. */
  get isLong(): boolean {
    return performance.now() - this.#sinceMs > STRETCH_MS
  }

  async giveTurn(): Promise<void> {
    await ownTurn()
    this.#sinceMs = performance.now()
  }
}
