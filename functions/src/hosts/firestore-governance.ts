import { FirestoreIdempotencyKeys } from '../stores/firestore/firestore-idempotency-keys.ts'
import { FirestoreApprovalStore } from '../stores/firestore/firestore-approval-store.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import { FirestoreRuleStore } from '../stores/firestore/firestore-rule-store.ts'
import { FirestoreScopeStore } from '../stores/firestore/firestore-scope-store.ts'
import { FirestoreSessionStore } from '../stores/firestore/firestore-session-store.ts'
import type { Governance } from './services.ts'

/** What is kept about calls in Firestore. */
export function firestoreGovernance(connection: FirestoreConnection): Governance {
  return {
    approvals: new FirestoreApprovalStore(connection),
    keys: new FirestoreIdempotencyKeys(connection),
    rules: new FirestoreRuleStore(connection),
    scopes: new FirestoreScopeStore(connection),
    sessions: new FirestoreSessionStore(connection),
    close: () => connection.close(),
  }
}
