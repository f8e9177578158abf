import type { Firestore } from 'firebase-admin/firestore'
import { FirestoreConnection } from './firestore-connection.ts'
import { FirestoreRest } from './firestore-rest.ts'
import { firestoreSettings } from './firestore-settings.ts'
import { EMULATOR_TOKEN, MetadataToken } from './metadata-token.ts'

/** Firestore of the project that the environment names. */
export function firestoreConnection(env: NodeJS.ProcessEnv = process.env): FirestoreConnection {
  return new FirestoreConnection(() => connectFirestore(env), firestoreRest(env))
}

/** The client without firebase-admin around it, which would take a quarter longer to load. */
async function connectFirestore(env: NodeJS.ProcessEnv): Promise<Firestore> {
  // Against the emulator nobody has credentials, and looking for a metadata server only warns that there is none.
  if (env['FIRESTORE_EMULATOR_HOST']) env['METADATA_SERVER_DETECTION'] ??= 'none'
  const { Firestore } = await import('@google-cloud/firestore')
  return new Firestore(firestoreSettings())
}

/**
 * REST where it is known who asks: against the emulator, and on Cloud Run, which Cloud Functions run on too, by the
 * instance's service account. Other credentials, such as a file of keys, are for the client to find.
 */
function firestoreRest(env: NodeJS.ProcessEnv): FirestoreRest | undefined {
  const projectId = env['GOOGLE_CLOUD_PROJECT'] || env['GCLOUD_PROJECT']
  if (!projectId) return undefined
  const { FIRESTORE_EMULATOR_HOST: emulator, K_SERVICE: service, GOOGLE_APPLICATION_CREDENTIALS: keys } = env
  if (emulator) return new FirestoreRest(`http://${emulator}`, projectId, EMULATOR_TOKEN)
  if (!service || keys || env['FUNCTIONS_EMULATOR'] === 'true') return undefined
  return new FirestoreRest('https://firestore.googleapis.com', projectId, new MetadataToken())
}
