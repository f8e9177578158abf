import { Deadline } from './deadline.ts'
import { busyError } from './firestore-error.ts'

/** Runs acts on the same thing one after the other, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** The result of the act. Rejects with STORE_BUSY if its turn does not come in time; then it never runs. */
  async take<T>(what: string, waitMs: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(what) ?? Promise.resolve()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    // An act that gives up keeps its place in the queue, because those behind it wait for the one that runs now.
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
