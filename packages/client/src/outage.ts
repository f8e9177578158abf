const PAUSE_MS = { first: 1_000, most: 30_000 }
/** The longest `Retry-After` that is kept. */
const RETRY_AFTER_MS_MAX = 300_000

/**
 * Whether the service is away. While it is, nobody waits for it: once in a pause, which doubles, one list asks it in the
 * background, and the first answer ends the outage. No clock runs, so nothing is left behind by a program that ends.
 */
export class Outage {
  #pauseMs = 0
  #askAgainMs = 0

  get isOn(): boolean {
    return this.#pauseMs > 0
  }

  /** Whether it is time to ask again; whoever is told so is to ask. */
  isTimeToAsk(): boolean {
    if (Date.now() < this.#askAgainMs) return false
    this.#pause(0)
    return true
  }

  begin(retryAfterMs: number): void {
    this.#pauseMs = Math.min(this.#pauseMs * 2 || PAUSE_MS.first, PAUSE_MS.most)
    this.#pause(Math.min(retryAfterMs, RETRY_AFTER_MS_MAX))
  }

  end(): void {
    this.#pauseMs = 0
  }

  #pause(leastMs: number): void {
    this.#askAgainMs = Date.now() + Math.max(leastMs, this.#pauseMs * (0.5 + Math.random() / 2))
  }
}
