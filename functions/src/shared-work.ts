/** Work that several callers wait for. */
type Running<Result> = {
  readonly result: Promise<Result>
  readonly stop: AbortController
  callers: number
}

/**
 * Does long work once for several callers who need the same result. Work with equal keys is the same. It ends early when its last
 * caller has left.
 */
export class SharedWork<Key, Result> {
  readonly #running = new Map<Key, Running<Result>>()

  /**
   * Waits for the result of the work with this key. If the work is not running, `begin` starts it. `signal` is aborted when the
   * caller has left. Then this call rejects with the reason of the signal, while the other callers still wait. The signal that
   * `begin` gets is aborted when all callers have left.
   */
  run(
    key: Key,
    signal: AbortSignal | undefined,
    begin: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error)
    const running = this.#running.get(key) ?? this.#begin(key, begin)
    running.callers += 1
    if (!signal) return running.result
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const leave = (): void => {
      reject(signal.reason as Error)
      running.callers -= 1
      if (running.callers > 0) return
      // A caller that comes after this begins the work again, because the running work ends.
      this.#forget(key, running)
      running.stop.abort(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    running.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    return promise
  }

  #begin(key: Key, begin: (signal: AbortSignal) => Promise<Result>): Running<Result> {
    const stop = new AbortController()
    const running: Running<Result> = { result: begin(stop.signal), stop, callers: 0 }
    this.#running.set(key, running)
    const forget = (): void => this.#forget(key, running)
    running.result.then(forget, forget)
    return running
  }

  #forget(key: Key, running: Running<Result>): void {
    if (this.#running.get(key) === running) this.#running.delete(key)
  }
}
