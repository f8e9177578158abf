import { isToolrackError, ToolrackError } from '@toolrack/contract'

/** gRPC's status codes that mean more than "it did not work". */
const RESOURCE_EXHAUSTED = 8
const ABORTED = 10

/** An error of Firestore, of its credentials or of the network, as callers of the store know it. What is ours passes through. */
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

/** A commit that was sent and not answered: the truth is in the store alone. */
export function unconfirmed(error: unknown): unknown {
  const failed = firestoreError(error)
  if (!isToolrackError(failed) || failed.code !== 'STORE_FAILED') return failed
  return new ToolrackError(
    'STORE_FAILED',
    'The store did not confirm the write: all of it was written, or nothing. Look before you repeat it.',
    { cause: failed.cause },
  )
}

/** Mistakes of this program must not look like a failure of the store. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
