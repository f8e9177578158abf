import { ServiceError } from './errors.ts'
import { orAborted } from './in-time.ts'

/** The most requests for one list or one batch of calls, with the repeated ones. */
const ATTEMPTS = 3
const FIRST_PAUSE_MS = 100

const OUTAGE_PAUSE_MS = { first: 1_000, max: 30_000 }
/**
 * The longest `Retry-After` that the client obeys, in milliseconds. If a service sends a longer time, the client asks again after
 * this one.
 */
const RETRY_AFTER_MS_MAX = 300_000

/**
 * Tries again after a ServiceError. The pauses get longer and are random, so that clients whose requests failed at the same time
 * do not repeat them at the same time. The pause that the service asked for is added. If the pause would end after `endsMs`, or
 * if `mayRepeat` returns false, the error is thrown instead. If a call with the same key is still running, asking again does not
 * count as an attempt.
 */
export async function withRetry<T>(
  endsMs: number,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  mayRepeat: (error: ServiceError) => boolean = () => true,
): Promise<T> {
  for (let tried = 1; ;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ServiceError) || !mayRepeat(error)) throw error
      if (tried === ATTEMPTS && !error.isInFlight) throw error
      const pauseMs = error.retryAfterMs + FIRST_PAUSE_MS * 2 ** (tried - 1) * randomFactor()
      if (Date.now() + pauseMs >= endsMs) throw error
      await pause(pauseMs, signal)
      if (!error.isInFlight) tried += 1
    }
  }
}

function mayHaveRun({ code, wasSent, isInFlight }: ServiceError): boolean {
  return isInFlight || (wasSent && code !== 'BUSY')
}

/**
 * Sends calls. They are sent again in three cases: if the request certainly never reached the service, if a limit has refused the
 * call, or after any other ServiceError if there is an idempotency key. While a call with this key is running, asks again until `endsMs`. If one request
 * was lost and no later request was answered, throws the error of the lost one, because the tool may have run. `lostBefore` is
 * the error of an earlier request of the same call.
 */
export async function sendCalls<T>(
  endsMs: number,
  signal: AbortSignal,
  idempotencyKey: string | undefined,
  send: () => Promise<T>,
  lostBefore?: ServiceError,
): Promise<T> {
  if (idempotencyKey === undefined)
    return withRetry(endsMs, signal, send, ({ wasSent, refusal }) => !wasSent || refusal !== undefined)
  let lost = lostBefore
  const attempt = async (): Promise<T> => {
    try {
      return await send()
    } catch (error) {
      if (error instanceof ServiceError && mayHaveRun(error)) lost = error
      throw error
    }
  }
  try {
    return await withRetry(endsMs, signal, attempt)
  } catch (error) {
    throw error instanceof ServiceError ? (lost ?? error) : error
  }
}

/**
 * Remembers that the service is not available. During this outage no list waits for the service. After each pause, one list asks
 * the service in the background. The first answer ends the outage. The pauses double up to a maximum. This class has no timer
 * that could keep a program running.
 */
export class Outage {
  #pauseMs = 0
  #askAgainMs = 0

  get isOn(): boolean {
    return this.#pauseMs > 0
  }

  /** True if the pause is over. Then the next pause begins, and the caller must ask the service. */
  isTimeToAsk(): boolean {
    if (Date.now() < this.#askAgainMs) return false
    this.#pause(0)
    return true
  }

  begin(retryAfterMs: number): void {
    this.#pauseMs = Math.min(this.#pauseMs * 2 || OUTAGE_PAUSE_MS.first, OUTAGE_PAUSE_MS.max)
    this.#pause(Math.min(retryAfterMs, RETRY_AFTER_MS_MAX))
  }

  end(): void {
    this.#pauseMs = 0
  }

  #pause(minMs: number): void {
    this.#askAgainMs = Date.now() + Math.max(minMs, this.#pauseMs * randomFactor())
  }
}

function randomFactor(): number {
  return 0.5 + Math.random() / 2
}

/** Waits for the pause. If the signal is aborted, rejects at once with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  let clock: ReturnType<typeof setTimeout>
  const over = new Promise<void>((resolve) => (clock = setTimeout(resolve, ms)))
  return orAborted(signal, over).finally(() => clearTimeout(clock))
}
