import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import type { Governance } from './services.ts'

/** What is kept about calls in Firestore. */
export function firestoreGovernance(connection: FirestoreConnection): Governance {
  return { close: () => connection.close() }
}
