import type { Sealing } from '../calls/sealing.ts'
import type { SecretKeys } from '../features/secrets/secret-keys.ts'
import { FirestoreDocuments } from '../stores/firestore/firestore-documents.ts'
import type { FirestoreConnection } from '../stores/firestore/firestore-connection.ts'
import type { Governance } from '../features/host-parts.ts'

/**
 * The storage of features in Firestore. Without `sealing`, which encrypts texts, a text with a recognized secret is not stored.
 * Without `secretKeys`, no secrets of users are stored.
 */
export function firestoreGovernance(
  connection: FirestoreConnection,
  sealing?: Sealing,
  secretKeys?: SecretKeys,
): Governance {
  return {
    documents: (now) => new FirestoreDocuments(connection, { now }),
    sealing,
    secretKeys,
    close: () => connection.close(),
  }
}
