import { ToolrackError } from '@toolrack/contract'

/** gRPC's ABORTED: other writers of the same documents were faster, again and again. */
const ABORTED = 10

/** An error of Firestore as callers of the store know it. Errors that are ours already pass through. */
export function firestoreError(error: unknown): unknown {
  const { code } = error as { code?: unknown }
  if (typeof code !== 'number') return error
  return new ToolrackError(code === ABORTED ? 'STORE_BUSY' : 'STORE_FAILED', undefined, { cause: error })
}
