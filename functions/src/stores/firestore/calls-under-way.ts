import { Deadline } from './deadline.ts'

/**
 * Calls to Firestore, whether somebody still waits for them or not. A client that is closed under a call which it would
 * repeat raises an error that nobody can catch (`ClientPool.run` in `Firestore.requestStream`).
 */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>()

  /** The call's result, or STORE_FAILED when it takes longer; its signal tells the call when nobody waits any more. */
  async within<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new Deadline(ms)
    try {
      return await deadline.race(this.track(call(deadline.signal)))
    } finally {
      deadline.end()
    }
  }

  track<T>(call: Promise<T>): Promise<T> {
    const ended = (): void => void this.#calls.delete(call)
    this.#calls.add(call)
    call.then(ended, ended)
    return call
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
  }
}
