import { withinMs } from '../../within-ms.ts'
import { busyError } from './firestore-error.ts'

/** Runs the actions with the same key one after the other, in the order of their calls. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Waits for the turn of the action, and returns its result. Rejects with STORE_BUSY if the turn does not come within `waitMs`;
   * the action then never runs.
   */
  async take<T>(key: string, waitMs: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    // An action that has given up keeps its place until its turn. Otherwise the next action would not wait for the action that is
    // running.
    const mine: Promise<void> = before.then(() => isOver).then(() => this.#leave(key, mine))
    this.#last.set(key, mine)
    try {
      await withinMs(waitMs, before, () => {
        throw busyError(new Error(`no turn to write within ${waitMs} ms`))
      })
      return await act()
    } finally {
      end()
    }
  }

  #leave(key: string, last: Promise<void>): void {
    if (this.#last.get(key) === last) this.#last.delete(key)
  }
}
