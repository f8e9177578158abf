import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which others are given a turn. */
export const STRETCH_MS = 5

let last = Promise.resolve()

/**
 * Resolves in a later turn of the event loop, and for each that waits here in another one: where many long pieces of work
 * went on in the same turn, everybody else would wait for all of them.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** Work in many pieces, which others would wait for where none of them waits for anything. */
export class LongWork {
  #sinceMs = performance.now()

  /** Whether others have had no turn for so long that they are to be given one before the next piece. */
  get isLong(): boolean {
    return performance.now() - this.#sinceMs > STRETCH_MS
  }

  async giveTurn(): Promise<void> {
    await ownTurn()
    this.#sinceMs = performance.now()
  }
}
