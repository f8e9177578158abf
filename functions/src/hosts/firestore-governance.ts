import { FirestoreIdempotencyKeys } from '../stores/firestore/firestore-idempotency-keys.ts'
import { FirestoreApprovalStore } from '../stores/firestore/firestore-approval-store.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import { FirestoreRuleStore } from '../stores/firestore/firestore-rule-store.ts'
import type { Sealing } from '../calls/sealing.ts'
import type { Governance } from './services.ts'

/** What is kept about calls in Firestore. Without `sealing`, no text with a recognised secret is kept. */
export function firestoreGovernance(connection: FirestoreConnection, sealing?: Sealing): Governance {
  return {
    sealing,
    approvals: new FirestoreApprovalStore(connection),
    keys: new FirestoreIdempotencyKeys(connection),
    rules: new FirestoreRuleStore(connection),
    close: () => connection.close(),
  }
}
