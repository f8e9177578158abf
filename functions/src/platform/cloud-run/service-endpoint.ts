import { ServiceNotFoundError } from './find-service.ts'

/** The fewest milliseconds between two lookups. */
const AGAIN_MS = 5_000

/** Provides the address of a service. The address is looked up when it is first needed, and again after a call of `doubt`. */
export class ServiceEndpoint {
  readonly #find: () => Promise<string>
  readonly #againMs: number
  #url: string | undefined
  #isDoubted = false
  /** When the last lookup ended. Infinity during a lookup. */
  #lookUpEndedMs = -Infinity
  #last: Promise<string> | undefined

  /** `find` looks up the address, and rejects with a ServiceNotFoundError if it finds none. */
  constructor(find: () => Promise<string>, { againMs = AGAIN_MS }: { againMs?: number } = {}) {
    this.#find = find
    this.#againMs = againMs
  }

  /** The address. A promise if the address has to be looked up first. It rejects with the error of `find`. */
  get(): string | Promise<string> {
    if (this.#url !== undefined && !this.#isDoubted) return this.#url
    if (this.#last && performance.now() - this.#lookUpEndedMs < this.#againMs) return this.#last
    return (this.#last = this.#lookUp())
  }

  /** Must be called if the service did not answer at `url`. The next `get` then looks up the address again. */
  doubt(url: string): void {
    this.#isDoubted ||= url === this.#url
  }

  async #lookUp(): Promise<string> {
    this.#lookUpEndedMs = Infinity
    try {
      this.#url = await this.#find()
      this.#isDoubted = false
      return this.#url
    } catch (error) {
      // After an error of the lookup, the old address is still used, unless the service does not exist any more.
      if (!(error instanceof ServiceNotFoundError) || error.isGone) this.#url = undefined
      if (this.#url === undefined) throw error
      return this.#url
    } finally {
      this.#lookUpEndedMs = performance.now()
    }
  }
}
