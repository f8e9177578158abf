import { FirestoreAgentStore } from '../stores/firestore/firestore-agent-store.ts'
import { FirestoreIdempotencyKeys } from '../stores/firestore/firestore-idempotency-keys.ts'
import { FirestoreApprovalStore } from '../stores/firestore/firestore-approval-store.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import { FirestoreUsageStore } from '../stores/firestore/firestore-usage-store.ts'
import { FirestoreRuleStore } from '../stores/firestore/firestore-rule-store.ts'
import type { Sealing } from '../calls/sealing.ts'
import { FirestoreSessionStore } from '../stores/firestore/firestore-session-store.ts'
import { FirestoreScopeStore } from '../stores/firestore/firestore-scope-store.ts'
import type { Governance } from '../features/host-parts.ts'

/** What is kept about calls in Firestore. Without `sealing`, no text with a recognised secret is kept. */
export function firestoreGovernance(connection: FirestoreConnection, sealing?: Sealing): Governance {
  return {
    agents: new FirestoreAgentStore(connection),
    sealing,
    approvals: new FirestoreApprovalStore(connection),
    keys: new FirestoreIdempotencyKeys(connection),
    rules: new FirestoreRuleStore(connection),
    sessions: new FirestoreSessionStore(connection),
    scopes: new FirestoreScopeStore(connection),
    usage: new FirestoreUsageStore(connection),
    close: () => connection.close(),
  }
}
