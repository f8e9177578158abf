/**
 * How many milliseconds an open circuit refuses all calls. A host or a process that restarts is usually back within a minute,
 * and a caller who waits for it loses no more.
 */
export const OPEN_MS = 60_000

/**
 * How many milliseconds a trial keeps other calls out. A tool may run for an hour, and after this time another call tries it
 * too.
 */
const TRIAL_MS = 60_000

/**
 * Lets calls through, or refuses them. It is closed until `open` is called. When its time is over it is half open: one call, the
 * trial, is let through, and its end closes the circuit or opens it again. Times are milliseconds of a clock that never jumps.
 */
export class Circuit {
  #untilMs: number | undefined
  #trialUntilMs = -Infinity

  /** The time at which an open circuit becomes half open. Undefined for a closed circuit. */
  get untilMs(): number | undefined {
    return this.#untilMs
  }

  stateAt(nowMs: number): 'closed' | 'open' | 'half-open' {
    if (this.#untilMs === undefined) return 'closed'
    return nowMs < this.#untilMs ? 'open' : 'half-open'
  }

  refusesAt(nowMs: number): boolean {
    return this.#untilMs !== undefined && nowMs < Math.max(this.#untilMs, this.#trialUntilMs)
  }

  open(nowMs: number, openMs = OPEN_MS): void {
    this.#untilMs = nowMs + openMs
    this.endTrial()
  }

  beginTrial(nowMs: number): void {
    this.#trialUntilMs = nowMs + TRIAL_MS
  }

  /** Lets another call try, because the trial has shown nothing. */
  endTrial(): void {
    this.#trialUntilMs = -Infinity
  }
}
