import { orAborted } from './in-time.ts'
import type { ListAnswer } from './tool-list.ts'

/** The most lists that one `ToolDefs` remembers. This limits its memory. */
const LISTS_MAX = 100

/** For each of the last 100 queries, the last usable answer of the service. */
export class RememberedLists {
  readonly #lists = new Map<string, ListAnswer>()

  get(key: string): ListAnswer | undefined {
    const list = this.#lists.get(key)
    if (list) {
      this.#lists.delete(key)
      this.#lists.set(key, list)
    }
    return list
  }

  /** Remembers an answer. If it lacks a layer, it does not replace an answer that has all layers. */
  keep(key: string, list: ListAnswer): void {
    if (list.isPartial && this.#lists.get(key)?.isPartial === false) return
    this.#lists.set(key, list)
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > LISTS_MAX && oldest !== undefined) this.#lists.delete(oldest)
  }
}

type Running<T> = { readonly controller: AbortController; readonly answer: Promise<T>; callers: number }

/** Sends only one request for all callers that wait with the same key. When no caller waits any more, the request is aborted. */
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
