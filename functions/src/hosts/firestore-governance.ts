import { FirestoreIdempotencyKeys } from '../stores/firestore/firestore-idempotency-keys.ts'
import { FirestoreApprovalStore } from '../stores/firestore/firestore-approval-store.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import { FirestoreUsageStore } from '../stores/firestore/firestore-usage-store.ts'
import { FirestoreRuleStore } from '../stores/firestore/firestore-rule-store.ts'
import type { Governance } from './services.ts'

/** What is kept about calls in Firestore. */
export function firestoreGovernance(connection: FirestoreConnection): Governance {
  return {
    approvals: new FirestoreApprovalStore(connection),
    keys: new FirestoreIdempotencyKeys(connection),
    rules: new FirestoreRuleStore(connection),
    usage: new FirestoreUsageStore(connection),
    close: () => connection.close(),
  }
}
