/** The window of every limit of calls, in milliseconds: an empty bucket is full again after this time. */
export const WINDOW_MS = 60_000

/**
 * A bucket of calls that fills up within a minute. Times are milliseconds of a clock that never goes back, so a jump of the clock
 * of the machine changes nothing.
 */
export class TokenBucket {
  #quota: number
  #room: number
  #tokens: number
  #atMs: number

  /** `quota` is how many calls come back within a minute, and `room` how many the bucket can hold. The bucket is full. */
  constructor(quota: number, nowMs: number, room = quota) {
    this.#quota = quota
    this.#room = room
    this.#tokens = room
    this.#atMs = nowMs
  }

  /**
   * Changes the limit. The same part of the bucket stays used: an empty bucket is empty afterwards. So no change, in whatever
   * order, gives calls back sooner than a minute does.
   */
  set(quota: number, nowMs: number, room = quota): void {
    if (quota === this.#quota && room === this.#room) return
    this.#fill(nowMs)
    this.#tokens = (this.#tokens * room) / this.#room
    this.#quota = quota
    this.#room = room
  }

  /** How many calls may be made now. It may have a fraction. */
  left(nowMs: number): number {
    this.#fill(nowMs)
    return this.#tokens
  }

  take(): void {
    this.#tokens -= 1
  }

  /** Milliseconds until one call more may be made than now. */
  nextMs(nowMs: number): number {
    this.#fill(nowMs)
    return ((1 - (this.#tokens % 1)) * WINDOW_MS) / this.#quota
  }

  #fill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#atMs)
    this.#tokens = Math.min(this.#room, this.#tokens + (passedMs * this.#quota) / WINDOW_MS)
    this.#atMs = Math.max(this.#atMs, nowMs)
  }
}
