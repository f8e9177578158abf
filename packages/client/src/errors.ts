import type { AnsweredImage, ToolResult } from '@toolrack/contract'

/** The code of a ToolsError. Recognize an error by its code, never by its class or its text. */
export type ToolsErrorCode =
  /** An option, a Runner or a query is not allowed. */
  | 'OPTION_INVALID'
  /** The token function threw, or returned no token. */
  | 'TOKEN_FAILED'
  /** The service refused the request. `status` is 4xx, and `reason` is the code of the service. */
  | 'SERVICE_REFUSED'
  /** The service is not available. The client also remembers no answer of the service, and has no local definitions. */
  | 'SERVICE_UNAVAILABLE'
  /** The alias of a name needs a SHA-256, but `crypto.subtle` is missing. Pages without https do not have it. */
  | 'CRYPTO_MISSING'
  /**
   * The model's answer contains no readable list of calls, or an item that looks like a call but has no known format. Or
   * `complete` did not get exactly one result for each call of the answer.
   */
  | 'CALLS_INVALID'
  /** The chat endpoint of `runTools` failed, or its answer is not a chat completion. */
  | 'MODEL_FAILED'

/** The result of one call in a model's answer. */
export type CallResult = {
  /** The index of the call in the answer, counted among all of its items. */
  readonly index: number
  readonly id: string | null
  readonly name: string
  readonly result: ToolResult
  /** The images of the result that the message to the model has. `complete` takes them from here. */
  readonly images?: readonly AnsweredImage[]
}

/** An error that the client reports to its caller. If only a tool fails, there is no ToolsError, but a result for the model. */
export class ToolsError extends Error {
  override readonly name = 'ToolsError'
  readonly code: ToolsErrorCode
  /** The HTTP status, if an HTTP answer caused the error. */
  readonly status: number | undefined
  /** The code of the service, such as `PARAMETER_INVALID`. */
  readonly reason: string | undefined
  /** The results of the calls that had ended when `dispatch` threw. They can be passed to `complete`. */
  readonly results: readonly CallResult[] = []

  /** `message` names the fault and what to do. It never repeats a token or a rejected value. */
  constructor(
    code: ToolsErrorCode,
    message: string,
    options: { status?: number; reason?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status
    this.reason = options.reason
  }
}

export function optionInvalid(fault: string): ToolsError {
  return new ToolsError('OPTION_INVALID', `The option ${fault}.`)
}

/** Why the client has no usable answer from the service. */
export type ServiceErrorCode =
  /** The client could not connect, or the connection broke before the answer was complete. */
  | 'NETWORK'
  /** There was no complete answer within the deadline, or the status was 408. */
  | 'TIMEOUT'
  /** The status was 429. */
  | 'BUSY'
  /** The status was 5xx. */
  | 'FAILED'
  /** The answer is not the expected JSON. For example, it is HTML. */
  | 'UNREADABLE'
  /** The list is empty, and the service could not read a layer. */
  | 'LAYERS_LOST'

/**
 * Thrown inside of the client if the service has given no usable answer. The client always catches it, so the client's callers
 * never get it.
 */
export class ServiceError extends Error {
  readonly code: ServiceErrorCode
  /** How many milliseconds the service wants the client to wait. 0 if the service has not said it. */
  readonly retryAfterMs: number
  /** False if the request certainly never reached the service. */
  readonly wasSent: boolean
  /** True if an earlier request with the same idempotency key is still running. */
  readonly isInFlight: boolean
  /** The result of a call that a limit has refused. Nothing was run. */
  readonly refusal: ToolResult | undefined

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs ?? 0
    this.wasSent = options.wasSent ?? true
    this.isInFlight = options.isInFlight ?? false
    this.refusal = options.refusal
  }
}

type ServiceErrorOptions = {
  readonly retryAfterMs?: number
  readonly wasSent?: boolean
  readonly isInFlight?: boolean
  readonly refusal?: ToolResult
  readonly cause?: unknown
}

export function timedOut(deadlineMs: number): ServiceError {
  return new ServiceError('TIMEOUT', `The service did not answer within ${deadlineMs} ms.`)
}
