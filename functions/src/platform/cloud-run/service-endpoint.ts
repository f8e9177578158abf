import { ServiceNotFoundError } from './find-service.ts'

/** The fewest milliseconds between two lookups. */
const AGAIN_MS = 5_000

/** Provides the address of a service. The address is looked up when it is first needed, and again after a call of `doubt`. */
export class ServiceEndpoint {
  readonly #find: () => Promise<string>
  readonly #againMs: number
  #url: string | undefined
  #isDoubted = false
  /** The time at which the last lookup ended, or Infinity during a lookup. */
  #lookUpEndedMs = -Infinity
  #last: Promise<string> | undefined

  /** `find` looks up the address. It rejects with a ServiceNotFoundError. */
  constructor(find: () => Promise<string>, { againMs = AGAIN_MS }: { againMs?: number } = {}) {
    this.#find = find
    this.#againMs = againMs
  }

  /** The address. Returns a promise only if the address has to be looked up. Rejects with the error of `find`. */
  get(): string | Promise<string> {
    if (this.#url !== undefined && !this.#isDoubted) return this.#url
    if (this.#last && performance.now() - this.#lookUpEndedMs < this.#againMs) return this.#last
    return (this.#last = this.#lookUp())
  }

  /** Reports that the service did not answer at `url`. The next `get` then looks up the address again. */
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
      // After an error, the old address is still used, unless the service does not exist any more.
      if (!(error instanceof ServiceNotFoundError) || error.isGone) this.#url = undefined
      if (this.#url === undefined) throw error
      return this.#url
    } finally {
      this.#lookUpEndedMs = performance.now()
    }
  }
}
