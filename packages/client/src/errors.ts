/** What an error of the client means. Recognise an error by its code, never by its class or its text. */
export type ToolsErrorCode =
  /** An option, a Runner or a query is not allowed. */
  | 'OPTION_INVALID'
  /** The token function threw, or gave no token. */
  | 'TOKEN_FAILED'
  /** The service refused the request. `status` is 4xx, and `reason` is the code of the service. */
  | 'SERVICE_REFUSED'
  /** The service is not available, no answer of it is remembered, and there are no local definitions. */
  | 'SERVICE_UNAVAILABLE'
  /** A name needs a SHA-256, and the platform has none: `crypto.subtle` is missing on pages without https. */
  | 'CRYPTO_MISSING'
  /** The model's answer holds no list of calls that can be read. */
  | 'CALLS_INVALID'
  /** The chat endpoint of `runTools` failed, or its answer is not a chat completion. */
  | 'MODEL_FAILED'

/** An error that the caller has to correct. An unavailable service and a failed tool are not such errors. */
export class ToolsError extends Error {
  override readonly name = 'ToolsError'
  readonly code: ToolsErrorCode
  /** The HTTP status, if the error is an HTTP answer. */
  readonly status: number | undefined
  /** The code of the service, such as `PARAMETER_INVALID`. */
  readonly reason: string | undefined

  /** `message` says what is wrong and what to do. It never repeats a token or a rejected value. */
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

/** Why there is no usable answer of the service. */
export type ServiceErrorCode =
  /** No connection, or the connection broke before the answer was complete. */
  | 'NETWORK'
  /** No complete answer within the deadline, or a 408. */
  | 'TIMEOUT'
  /** 429. */
  | 'BUSY'
  /** 5xx. */
  | 'FAILED'
  /** An answer that is not a list of tools, such as HTML. */
  | 'UNREADABLE'
  /** An empty list, and the service could not read a layer. */
  | 'LAYERS_LOST'

/** Thrown if there is no usable answer of the service. It never leaves the client, which then answers something else. */
export class ServiceError extends Error {
  readonly code: ServiceErrorCode
  /** For how many milliseconds the service asked not to be asked again. */
  readonly retryAfterMs: number

  constructor(
    code: ServiceErrorCode,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

export function timedOut(deadlineMs: number): ServiceError {
  return new ServiceError('TIMEOUT', `The service did not answer within ${deadlineMs} ms.`)
}
