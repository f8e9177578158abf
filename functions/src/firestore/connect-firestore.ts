import type { Firestore } from 'firebase-admin/firestore'
import { firestoreSettings } from './firestore-settings.ts'

/**
 * Firestore of the project that the environment names. The client is loaded here, without firebase-admin around it,
 * which would take a quarter longer.
 */
export async function connectFirestore(): Promise<Firestore> {
  // Against the emulator nobody has credentials, and looking for a metadata server only warns that there is none.
  if (process.env['FIRESTORE_EMULATOR_HOST']) process.env['METADATA_SERVER_DETECTION'] ??= 'none'
  const { Firestore } = await import('@google-cloud/firestore')
  return new Firestore(firestoreSettings())
}
