import { Deadline } from './deadline.ts'
import { busyError } from './firestore-error.ts'

/** Lets those who want the same thing act one after the other, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** What comes of the act, or STORE_BUSY when its turn does not come in time; then it never acts. */
  async take<T>(what: string, waitMs: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(what) ?? Promise.resolve()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    // Who gives up still stands in the queue: those behind wait for whoever acts now.
    const mine: Promise<void> = before.then(() => isOver).then(() => this.#leave(what, mine))
    this.#last.set(what, mine)
    try {
      await turnWithin(waitMs, before)
      return await act()
    } finally {
      end()
    }
  }

  #leave(what: string, last: Promise<void>): void {
    if (this.#last.get(what) === last) this.#last.delete(what)
  }
}

async function turnWithin(ms: number, turn: Promise<void>): Promise<void> {
  const waiting = new Deadline(ms, () => busyError(new Error(`no turn to write within ${ms} ms`)))
  try {
    await waiting.race(turn)
  } finally {
    waiting.end()
  }
}
