import { ERROR_CODES, errorBody, isToolrackError, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../log.ts'
import { announcesBody } from './read-body.ts'
import { sendJson } from './send-json.ts'
import { mayBeSlow } from './slow-body.ts'

/** Makes the body of an answer that reports an error. */
export type ErrorForm = (error: ToolrackError) => object

/**
 * Makes an error in the format that the clients of the original service, which Toolrack replaces, read. If the error is
 * unexpected, the text has the id under which it is logged.
 */
export const originalError: ErrorForm = ({ message, details: [detail] }) => {
  const requestId = detail?.['requestId']
  return { error: typeof requestId === 'string' ? `${message} Its id is ${requestId}.` : message }
}

/**
 * Answers with an error. An unexpected error is logged in full and answered as INTERNAL. If an answer has already begun, the
 * connection is closed and the error logged, because an answer that ends normally would look complete.
 */
export function sendError(res: ServerResponse, thrown: unknown, log: Log, form: ErrorForm = errorBody): void {
  const error = toolrackError(thrown, log)
  // A stream that has ended has told its reader the error.
  if (res.writableEnded) return
  const { httpStatus, retry } = ERROR_CODES[error.code]
  if (res.headersSent) {
    log.error('answer broken off', { code: error.code, error: error.message })
    return void res.destroy()
  }
  sendJson(res, httpStatus, form(error), {
    ...(httpStatus === 401 && { 'WWW-Authenticate': 'Bearer realm="toolrack"' }),
    ...(isBodyRefused(error.code, res.req) && { Connection: 'close' }),
    ...(retry && { 'Retry-After': String(error.retryAfterSeconds ?? 1) }),
  })
}

/**
 * True if a body was refused because of its size, because all bodies together are too large, or after a part of a slow body was
 * read, and the rest has not been read. Then the connection is closed, and the client need not send that part. If the whole body was read, the connection stays
 * open: a proxy that has not finished its last write would otherwise lose the answer.
 */
export function isBodyRefused(code: ErrorCode, req: IncomingMessage): boolean {
  const isRefused = ERROR_CODES[code].httpStatus === 413 || code === 'SERVICE_BUSY' || mayBeSlow(req)
  return isRefused && !req.complete && announcesBody(req)
}

function toolrackError(thrown: unknown, log: Log): ToolrackError {
  const error = knownError(thrown)
  const { code, message, cause, details } = error
  const requestId = details[0]?.['requestId']
  if (typeof requestId === 'string') {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    log.error('request failed', { requestId, error: reason })
  } else if (ERROR_CODES[code].httpStatus >= 500 && isToolrackError(thrown))
    log.error(message, { code, cause: cause instanceof Error ? cause.message : '' })
  return error
}

/** The error to answer with. An unexpected error becomes INTERNAL, with the id under which `sendError` logs its cause. */
export function knownError(thrown: unknown): ToolrackError {
  if (isToolrackError(thrown)) return thrown
  const details = [{ reason: 'INTERNAL', requestId: randomUUID() }] as const
  return requestError(thrown) ?? new ToolrackError('INTERNAL', undefined, { details, cause: thrown })
}

const ENCODING_UNKNOWN = 'The Content-Encoding is not known; send gzip, deflate, br or none.'

/** The error for a request that Express or its body parser has refused. Undefined for any other thrown value. */
export function requestError(thrown: unknown): ToolrackError | undefined {
  const { type, status } = (thrown ?? {}) as { type?: string; status?: number }
  if (type === 'request.aborted') return new ToolrackError('CANCELLED')
  if (type === 'entity.too.large') return new ToolrackError('BODY_TOO_LARGE')
  if (type === 'encoding.unsupported') return new ToolrackError('BODY_INVALID', ENCODING_UNKNOWN)
  if (status !== undefined && status >= 400 && status < 500) return new ToolrackError('REQUEST_MALFORMED')
  return undefined
}
