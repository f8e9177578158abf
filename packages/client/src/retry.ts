import { ServiceLoss } from './service-loss.ts'

/** How often a list is asked for before something else is answered. */
const ATTEMPTS = 3
const FIRST_PAUSE_MS = 100

/**
 * Tries again after a loss, with growing pauses of random length, so that clients that lost the service together do not come back
 * together. A pause that the service asked for is kept; one that would end behind the deadline is not begun.
 */
export async function withRetry<T>(
  endsMs: number,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ServiceLoss) || tried === ATTEMPTS) throw error
      const pauseMs = error.retryAfterMs + FIRST_PAUSE_MS * 2 ** (tried - 1) * (0.5 + Math.random() / 2)
      if (Date.now() + pauseMs >= endsMs) throw error
      await pause(pauseMs, signal)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const clock = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(clock)
      reject(signal.reason as Error)
    })
  })
}
