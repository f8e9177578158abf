import { withinMs } from '../../within-ms.ts'
import { busyError } from './firestore-error.ts'

/** Runs the actions with the same key one after the other, in the order of their calls. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Waits until it is the action's turn, and returns the result of the action. If the turn does not come within `waitMs`, rejects
   * with STORE_BUSY, and the action never runs.
   */
  async take<T>(key: string, waitMs: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    // An action that has given up still waits for its turn before it leaves. Otherwise the next action would not wait for the
    // action that is running.
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
