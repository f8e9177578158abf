import { ERROR_CODES, type ErrorCode } from './error-code.ts'
import type { JsonValue } from './json.ts'

/** One fact about an error: its reason (a code), and fields that say where it is. */
export type ErrorDetail = { readonly reason: ErrorCode; readonly [field: string]: JsonValue | undefined }

export type ErrorBody = {
  readonly error: {
    readonly code: number
    readonly status: string
    readonly message: string
    readonly details: readonly ErrorDetail[]
  }
}

/** An error for the caller. A programming error is a plain Error and becomes INTERNAL. */
export class ToolrackError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[]
  /** In how many seconds the caller may try again, if that is known. */
  readonly retryAfterSeconds: number | undefined

  /** `message` is public. It says what is wrong and what to do, and never repeats a rejected value. */
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

/** Recognises an error by its code, so that it works for another bundle's copy of the class too. */
export function isToolrackError(error: unknown): error is ToolrackError {
  return (
    error instanceof Error &&
    'code' in error &&
    'details' in error &&
    Object.hasOwn(ERROR_CODES, String(error.code))
  )
}

/** The body of an error answer, in the shape of Google's APIs. */
export function errorBody(error: ToolrackError): ErrorBody {
  const { httpStatus, status } = ERROR_CODES[error.code]
  return { error: { code: httpStatus, status, message: error.message, details: error.details } }
}
