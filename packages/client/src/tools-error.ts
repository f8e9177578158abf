/** What an error of the client means. Recognise it by its code, never by its class or its text. */
export type ToolsErrorCode =
  /** An option, a Runner or a query is not allowed: the program that was written is at fault. */
  | 'OPTION_INVALID'
  /** The token function threw, or gave no token. */
  | 'TOKEN_FAILED'
  /** The service has refused the request: its `status` is 4xx, and `reason` is the service's own code. */
  | 'SERVICE_REFUSED'
  /** The service can not be had, nothing of it is remembered, and there are no local definitions. */
  | 'SERVICE_UNAVAILABLE'
  /** What was given as a model's answer holds no list of calls that can be read. */
  | 'CALLS_INVALID'
  /** The chat endpoint of `runTools` failed, or answered something else than a chat completion. */
  | 'MODEL_FAILED'

/** Raised for what the caller has to mend. Not for a service that is away or a tool that fails: those are answered. */
export class ToolsError extends Error {
  override readonly name = 'ToolsError'
  readonly code: ToolsErrorCode
  /** The HTTP status, where an answer is at fault. */
  readonly status: number | undefined
  /** The code that the service gave for it, such as `PARAMETER_INVALID`. */
  readonly reason: string | undefined

  /** `message` says whose fault it is and what to do, and never repeats a token or a rejected value. */
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
