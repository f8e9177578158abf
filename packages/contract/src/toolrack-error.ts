import { ERROR_CODES, type ErrorCode } from './error-code.ts'
import type { JsonValue } from './json.ts'

/** One fact about an error: an error code as its reason, and fields that say where the error is. */
export type ErrorDetail = { readonly reason: ErrorCode; readonly [field: string]: JsonValue | undefined }

export type ErrorBody = {
  readonly error: {
    readonly code: number
    readonly status: string
    readonly message: string
    readonly details: readonly ErrorDetail[]
  }
}

/** An error that is reported to the caller. A programming error is a plain Error, which is reported as INTERNAL. */
export class ToolrackError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[]
  /** The number of seconds after which the caller may try again, or undefined if it is not known. */
  readonly retryAfterSeconds: number | undefined

  /** `message` is public. It names the fault and what to do, and never repeats a rejected value. */
  constructor(
    code: ErrorCode,
    message?: string,
    options: {
      details?: readonly ErrorDetail[]
      cause?: unknown
      retryAfterSeconds?: number | undefined
    } = {},
  ) {
    super(message ?? ERROR_CODES[code].text, { cause: options.cause })
    this.name = 'ToolrackError'
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details = options.details?.length ? options.details : [{ reason: code }]
  }
}

/** Recognizes a ToolrackError by its code, because another bundle can have its own copy of the class. */
export function isToolrackError(error: unknown): error is ToolrackError {
  return (
    error instanceof Error &&
    'code' in error &&
    'details' in error &&
    Object.hasOwn(ERROR_CODES, String(error.code))
  )
}

/** The body of an HTTP answer that reports an error. It has the shape that Google's APIs use. */
export function errorBody(error: ToolrackError): ErrorBody {
  const { httpStatus, status } = ERROR_CODES[error.code]
  return { error: { code: httpStatus, status, message: error.message, details: error.details } }
}
