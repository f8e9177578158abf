import { orAborted } from './in-time.ts'

type Running<T> = { readonly controller: AbortController; readonly answer: Promise<T>; callers: number }

/** One request for all who ask the same at the same time. It ends early when every one of them has gone. */
export class SharedRequests<T> {
  readonly #running = new Map<string, Running<T>>()

  async share(
    key: string,
    ask: (signal: AbortSignal) => Promise<T>,
    caller: AbortSignal | undefined,
  ): Promise<T> {
    const running = this.#running.get(key) ?? this.#start(key, ask)
    running.callers += 1
    try {
      return await orAborted(caller, running.answer)
    } finally {
      running.callers -= 1
      if (running.callers === 0) {
        if (this.#running.get(key) === running) this.#running.delete(key)
        running.controller.abort(caller?.reason)
      }
    }
  }

  #start(key: string, ask: (signal: AbortSignal) => Promise<T>): Running<T> {
    const controller = new AbortController()
    const running = { controller, answer: ask(controller.signal), callers: 0 }
    this.#running.set(key, running)
    return running
  }
}
