import { ERROR_CODES } from './error-code.ts'
import type { ErrorCode } from './error-code.ts'
import type { JsonValue } from './json.ts'

/** One fact about an error: its reason (a code) and where it lies. */
export type ErrorDetail = { readonly reason: ErrorCode; readonly [field: string]: JsonValue | undefined }

export type ErrorBody = {
  readonly error: {
    readonly code: number
    readonly status: string
    readonly message: string
    readonly details: readonly ErrorDetail[]
  }
}

/** Raised for everything that a caller is told about. Not for programming errors: those are plain Errors and become INTERNAL. */
export class ToolrackError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[]
  /** When the caller may come again, where that is known. */
  readonly retryAfterSeconds: number | undefined

  /** `message` is public: it says whose fault it is and what to do, and never repeats a rejected value. */
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

/** Recognises an error by its code, also one from another bundle's copy of the class. */
export function isToolrackError(error: unknown): error is ToolrackError {
  return (
    error instanceof Error &&
    'code' in error &&
    'details' in error &&
    Object.hasOwn(ERROR_CODES, String(error.code))
  )
}

/** The wire form of an error, in the shape of Google's APIs. */
export function errorBody(error: ToolrackError): ErrorBody {
  const { httpStatus, status } = ERROR_CODES[error.code]
  return { error: { code: httpStatus, status, message: error.message, details: error.details } }
}
