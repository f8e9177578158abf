import { FirestoreIdempotencyKeys } from '../stores/firestore/firestore-idempotency-keys.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import { FirestoreRuleStore } from '../stores/firestore/firestore-rule-store.ts'
import type { Governance } from './services.ts'

/** What is kept about calls in Firestore. */
export function firestoreGovernance(connection: FirestoreConnection): Governance {
  return { keys: new FirestoreIdempotencyKeys(connection), close: () => connection.close() }
}
