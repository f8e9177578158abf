import type { Sealing } from '../calls/sealing.ts'
import { FirestoreDocuments } from '../stores/firestore/firestore-documents.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import type { Governance } from '../features/host-parts.ts'

/** What features keep in Firestore. Without `sealing`, no text with a recognised secret is kept. */
export function firestoreGovernance(connection: FirestoreConnection, sealing?: Sealing): Governance {
  return {
    documents: (now) => new FirestoreDocuments(connection, { now }),
    sealing,
    close: () => connection.close(),
  }
}
