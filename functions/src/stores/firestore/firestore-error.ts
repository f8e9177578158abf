import { isToolrackError, ToolrackError } from '@toolrack/contract'

/** The status codes of gRPC with which a store refuses a request because it has too many. */
const RESOURCE_EXHAUSTED = 8
const ABORTED = 10

/** The status code of gRPC for a request that is not valid. Firestore also sends it if it has closed the transaction. */
const INVALID_ARGUMENT = 3

/**
 * Converts the error of a read in a transaction. If Firestore has closed the transaction, the converted error makes the client
 * try again. By itself the client recognizes only the message of the real service, "transaction has expired", and not that of the
 * emulator.
 */
export function errorOfRead(error: unknown): unknown {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  if (code !== INVALID_ARGUMENT || !/transaction is invalid or closed/i.test(message)) return error
  return Object.assign(new Error(message, { cause: error }), { code: ABORTED })
}

/**
 * Converts an error of Firestore, of its credentials or of the network to a ToolrackError. Errors of program bugs are returned
 * unchanged.
 */
export function firestoreError(error: unknown): unknown {
  if (isToolrackError(error) || isBug(error)) return error
  const { code } = error as { code?: unknown }
  if (code === ABORTED || code === RESOURCE_EXHAUSTED) return busyError(error)
  return new ToolrackError('STORE_FAILED', undefined, { cause: error })
}

export function busyError(cause: unknown): ToolrackError {
  return new ToolrackError('STORE_BUSY', 'The store is asked too much at once; nothing was written.', {
    cause,
  })
}

/** The error of a commit that was sent but not answered. It is not known whether the commit was done. */
export function unconfirmed(error: unknown): unknown {
  const failed = firestoreError(error)
  if (!isToolrackError(failed) || failed.code !== 'STORE_FAILED') return failed
  return new ToolrackError(
    'STORE_FAILED',
    'The store did not confirm the write: all of it was written, or nothing. Look before you repeat it.',
    { cause: failed.cause },
  )
}

/** True for an error that shows a bug in this program. It must not look like a failure of the store. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
