import type { Transaction } from 'firebase-admin/firestore'

/** One write. Firestore may run its attempts several times; at most one of them happens. */
export interface StoreWrite<T> {
  /** Whether a commit was sent of which nobody knows whether it was done. */
  readonly isUnconfirmed: boolean
  attempt(transaction: Transaction): Promise<T>
}
