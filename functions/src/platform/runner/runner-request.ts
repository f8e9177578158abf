/** The address of a runner, and what authenticates requests to it. */
export type RunnerEndpoint = {
  readonly url: string
  /** The secret that the runner got at its start. Every request to it contains the secret. */
  readonly secret?: string | undefined
  /** The path of the Unix socket at which the runner takes calls as frames. Undefined if it takes them only over HTTP. */
  readonly socket?: string | undefined
  /**
   * Returns the ID token for a request, if Google checks callers. Rejects with an Error whose message can follow the word
   * "because".
   */
  readonly idToken?: (() => Promise<string>) | undefined
}

/** What a 401 or 403 from this endpoint means, in words that can follow "The runner". */
export function refusalBy({ idToken }: RunnerEndpoint, httpStatus: number): string {
  if (!idToken) return 'refuses the secret of this service'
  return httpStatus === 401
    ? 'takes no ID token that is for its address: RUNNER_URL must be the one that Cloud Run gave it'
    : "does not let this service's account in: give it roles/run.invoker on the runner's service"
}

/**
 * The most bytes of an answer.
 *
 * - `/invoke`: twice a result of 4 MiB, which the service can keep. JSON may write six bytes for one, but the runner refuses a
 *   result above 1 MiB that needs more than twice its size. Six times a log of 64 KiB. 11 MiB for 8 MiB of images and files in
 *   base64. Then 256 KiB for the other fields.
 * - `/check`: a report of 3 MiB, and a log.
 * - `/forget`: nothing, or an error.
 */
export const ANSWER_BYTES_MAX = {
  '/invoke': (2 * 4 + 11) * 1024 * 1024 + 6 * 64 * 1024 + 256 * 1024,
  '/check': 4 * 1024 * 1024,
  '/forget': 4 * 1024,
} as const

export type RunnerRequest = {
  readonly path: keyof typeof ANSWER_BYTES_MAX
  readonly body: string
  /** The most milliseconds from now to the last byte of the answer. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** True if the request may go together with others that have the same signal. If one caller leaves, all of them end. */
  readonly isOfBatch?: boolean
  /** Reads the answer while it arrives. If it is missing, the runner is asked for an answer without events. */
  readonly events?: EventsOf | undefined
  /** The most milliseconds between two parts of an answer with events. Each part gives the request this time again. */
  readonly idleMs?: number | undefined
}

/** Reads an answer with events. */
export type EventsOf = {
  /** True if a listener of the events has made the runner wait at least once. */
  readonly hasWaited?: boolean
  /** Takes the next bytes. If a listener wants to wait, returns a promise, which never rejects. Throws for an invalid answer. */
  take(piece: Buffer): Promise<void> | undefined
  /** The text that counts as the answer. */
  end(): string
  /** Throws if the events have ended in the middle of a line. Only for an answer that comes beside its events. */
  endOfLines?(): void
}

export type RunnerAnswer = {
  readonly httpStatus: number
  readonly text: string
  readonly retryAfterSeconds: number | undefined
  /** What a 401 or 403 means, in words that can follow "The runner". */
  readonly refusal: string
}

/**
 * Returned if a request got no answer. `wasSent` is true if the runner may have begun. `how` can follow the words "The runner".
 * `isCancelled` is true if the caller has disconnected. `isUnreached` is true if nothing listens at the socket of the endpoint.
 */
export type NoAnswer = {
  readonly wasSent: boolean
  readonly how: string
  readonly isCancelled?: boolean
  readonly isUnreached?: boolean
}

export const STOPPED = { how: 'was told to stop, because the caller has gone', isCancelled: true }

/** Why there is no answer, in words that can follow "The runner". */
export function whyNoAnswer({ code, message }: NodeJS.ErrnoException): string {
  return code === undefined ? message : `was lost (${code})`
}
