/** Work that several callers wait for. */
type Running<Result> = {
  readonly result: Promise<Result>
  readonly stop: AbortController
  callers: number
}

/** Long work for which several callers may wait. It is done once for equal keys, and ends early when the last caller has left. */
export class SharedWork<Key, Result> {
  readonly #running = new Map<Key, Running<Result>>()

  /**
   * Waits for the work with this key. If it is not running, `begin` begins it. `signal` is aborted when the caller has left: then
   * the result rejects with the signal's reason, and the other callers go on waiting. The signal that `begin` gets is aborted
   * when all callers have left.
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
