import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which others are given a turn. */
export const STRETCH_MS = 5

/**
 * For each millisecond by which a user's work has blocked all others for too long, the user starts nothing new for so many. Then
 * less than one request in 16 of other users meets such work.
 */
const PAUSE_FACTOR = 16
const PAUSE_MS_MAX = 1_000

/** How long a user pauses whose work has blocked all others for so many milliseconds too long. */
export function pauseMsAfter(tooLongMs: number): number {
  return Math.max(0, Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * tooLongMs))
}

/** The event loop is one for the whole process, and so is this queue of its turns. */
let last = Promise.resolve()

/**
 * Resolves in a later turn of the event loop, in another one for each caller. If many long pieces of work went on in the same
 * turn, everybody else would wait for all of them.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** Work in many pieces, none of which waits for anything, so that others would wait for all of them. */
export class LongWork {
  #sinceMs = performance.now()

  /** Whether others should have a turn before the next piece. */
  get isLong(): boolean {
    return performance.now() - this.#sinceMs > STRETCH_MS
  }

  async giveTurn(): Promise<void> {
    await ownTurn()
    this.#sinceMs = performance.now()
  }
}
