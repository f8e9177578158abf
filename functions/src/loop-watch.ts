import type { Log } from './log.ts'
import { listenForDelays, type LoopDelay } from './running-work.ts'

/** The most owners of work whose last delay is kept for the operator. */
const DELAYS_KEPT = 10

/** The least time between two lines in the log about the same owner of work, in milliseconds. */
const LOG_AGAIN_MS = 10_000

/** A delay of the event loop, and when it was (ISO 8601). */
export type SeenDelay = LoopDelay & { readonly at: string }

type Kept = {
  readonly delay: SeenDelay
  /** How often the owner has delayed the event loop since the last line in the log about it. */
  readonly times: number
  readonly loggedMs: number
}

type Parts = {
  readonly log: Pick<Log, 'warn'>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Tells the operator whose work delays other requests. */
export class LoopWatch {
  readonly #parts: Parts
  /** The last delay of each owner of work. The newest comes last. */
  readonly #kept = new Map<string, Kept>()
  #stop: (() => void) | undefined
  readonly #seen = { count: 0, longestMs: 0 }

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Begins the measurement, which goes on until `close`. */
  start(): void {
    this.#stop ??= listenForDelays((delay) => this.#take(delay))
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  /** The last delays, the newest first. */
  get delays(): readonly SeenDelay[] {
    return [...this.#kept.values()].toReversed().map(({ delay }) => delay)
  }

  /** How many delays there were since the start, and how many milliseconds the longest took. */
  get seen(): { readonly count: number; readonly longestMs: number } {
    return this.#seen
  }

  #take(delay: LoopDelay): void {
    const { route, uid, part } = delay
    this.#seen.count += 1
    this.#seen.longestMs = Math.max(this.#seen.longestMs, delay.ms)
    const { log, now } = this.#parts
    const nowMs = now()
    const key = JSON.stringify([route, uid, part])
    const before = this.#kept.get(key)
    const times = (before?.times ?? 0) + 1
    const isLogged = !before || nowMs - before.loggedMs >= LOG_AGAIN_MS
    const isKnown = route !== undefined || part !== undefined
    if (isLogged)
      log.warn('the event loop was delayed', { ...delay, ...(!isKnown && { part: 'not known' }), times })
    this.#kept.delete(key)
    this.#kept.set(key, {
      delay: { at: new Date(nowMs).toISOString(), ...delay },
      times: isLogged ? 0 : times,
      loggedMs: isLogged ? nowMs : before.loggedMs,
    })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > DELAYS_KEPT && oldest !== undefined) this.#kept.delete(oldest)
  }
}
