import { ToolrackError } from '@toolrack/contract'

/** The deadline of an answer. Work that is not done by then goes on, but nobody waits for its result. */
export class Deadline {
  readonly #passed: Promise<never>
  readonly #timer: NodeJS.Timeout
  readonly #over = new AbortController()

  constructor(ms: number, error = () => lateError(ms)) {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => undefined)
    this.#passed = promise
    this.#timer = setTimeout(() => {
      const late = error()
      this.#over.abort(late)
      reject(late)
    }, ms)
  }

  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** Aborted when the time is over, for work that can be ended. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The work's result, or the deadline's error when the time is over before it comes. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#passed])
  }

  /** To be called when the answer is there: a timer keeps the process alive. */
  end(): void {
    clearTimeout(this.#timer)
  }
}

function lateError(ms: number): ToolrackError {
  return new ToolrackError('STORE_FAILED', undefined, { cause: new Error(`no answer within ${ms} ms`) })
}
