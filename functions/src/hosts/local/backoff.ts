export type BackoffLimits = {
  /** Before it is started again: the first time, doubled each time, and at most. */
  readonly againMs: number
  readonly againMsMax: number
  /** After so long in good health the waiting begins anew. */
  readonly healthyMs: number
}

/** How long to wait before something that has ended is started again. */
export class Backoff {
  readonly #limits: BackoffLimits
  #nextMs: number

  constructor(limits: BackoffLimits) {
    this.#limits = limits
    this.#nextMs = limits.againMs
  }

  /** `healthMs` is how long it was in good health this time. */
  waitMs(healthMs: number): number {
    const { againMs, againMsMax, healthyMs } = this.#limits
    const waitMs = healthMs > healthyMs ? againMs : this.#nextMs
    this.#nextMs = Math.min(waitMs * 2, againMsMax)
    return waitMs
  }
}
