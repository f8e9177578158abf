import { ServiceNotFound } from './find-service.ts'

/** Before the next look, however often it is asked for meanwhile. */
const AGAIN_MS = 5_000

/** The address of a service: looked up when it is first needed, kept, and looked up again once it was doubted. */
export class ServiceAddress {
  readonly #find: () => Promise<string>
  readonly #againMs: number
  #url: string | undefined
  #isDoubted = false
  #isLooking = false
  #lookedMs = -Infinity
  #last: Promise<string> | undefined

  /** `find` rejects with a ServiceNotFound. */
  constructor(find: () => Promise<string>, { againMs = AGAIN_MS }: { againMs?: number } = {}) {
    this.#find = find
    this.#againMs = againMs
  }

  /** At once where it is known and not doubted. Rejects as `find` does. */
  get(): string | Promise<string> {
    if (this.#url !== undefined && !this.#isDoubted) return this.#url
    if (this.#last && (this.#isLooking || performance.now() - this.#lookedMs < this.#againMs))
      return this.#last
    return (this.#last = this.#look())
  }

  /** Nothing of ours answered there. */
  doubt(url: string): void {
    this.#isDoubted ||= url === this.#url
  }

  async #look(): Promise<string> {
    this.#isLooking = true
    try {
      this.#url = await this.#find()
      this.#isDoubted = false
      return this.#url
    } catch (error) {
      // An address that was good once is a better guess than none, unless its service is gone.
      if (this.#url === undefined || !(error instanceof ServiceNotFound) || error.isGone) {
        this.#url = undefined
        throw error
      }
      return this.#url
    } finally {
      this.#isLooking = false
      this.#lookedMs = performance.now()
    }
  }
}
