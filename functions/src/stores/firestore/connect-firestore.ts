import type { Firestore, Settings } from 'firebase-admin/firestore'
import { FirestoreConnection } from './firestore-connection.ts'
import { FirestoreRest } from './firestore-rest.ts'
import { EMULATOR_TOKEN, MetadataToken } from './metadata-token.ts'

/** The longest times for calls, in milliseconds. The catalog waits less, so they also end calls that nobody waits for. */
export const STORE_DEADLINES = {
  /** For a read of a layer's revision, or of its changes. */
  readMs: 5_000,
  wholeReadMs: 30_000,
  /** How long a write waits for earlier writes of the same process. After this time it is refused without an attempt. */
  turnMs: 30_000,
  /** For a write with all its attempts, without the wait for its turn. */
  writeMs: 10_000,
}
export type StoreDeadlines = Readonly<typeof STORE_DEADLINES>

/** Firestore of the project that the environment names. */
export function firestoreConnection(env: NodeJS.ProcessEnv = process.env): FirestoreConnection {
  return new FirestoreConnection(() => connectFirestore(env), firestoreRest(env))
}

/**
 * The settings of the client. The defaults have three problems. Deadlines are up to five minutes, and ten with repetitions, so
 * many calls would wait on a dead connection. After a long outage, the client would wait two minutes before it connects again.
 * Without pings, it would never notice a connection that drops everything.
 */
export function firestoreSettings({ readMs, wholeReadMs, writeMs } = STORE_DEADLINES): Settings {
  const methods = {
    BatchGetDocuments: { timeout_millis: readMs },
    RunQuery: { timeout_millis: wholeReadMs },
    RunAggregationQuery: { timeout_millis: readMs },
    // Only the transaction is repeated, because only it can find out whether an unanswered commit was done.
    Commit: { timeout_millis: writeMs, retry_codes_name: 'none' },
    Rollback: { timeout_millis: readMs, retry_codes_name: 'none' },
  }
  return {
    ignoreUndefinedProperties: true,
    clientConfig: { interfaces: { 'google.firestore.v1.Firestore': { retry_codes: { none: [] }, methods } } },
    grpcOptions: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2_000,
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 5_000,
    },
  }
}

/** Makes the client without firebase-admin, which would take a quarter longer to load. */
async function connectFirestore(env: NodeJS.ProcessEnv): Promise<Firestore> {
  // The emulator needs no credentials. Without this setting, the client looks for a metadata server and warns that there is none.
  if (env['FIRESTORE_EMULATOR_HOST']) env['METADATA_SERVER_DETECTION'] ??= 'none'
  const { Firestore } = await import('@google-cloud/firestore')
  return new Firestore(firestoreSettings())
}

/**
 * REST, if the credentials are known: for the emulator, and on Cloud Run (which Cloud Functions use too) those of the instance's
 * service account. Undefined for other credentials, such as a file of keys, which only the client can find.
 */
function firestoreRest(env: NodeJS.ProcessEnv): FirestoreRest | undefined {
  const projectId = env['GOOGLE_CLOUD_PROJECT'] || env['GCLOUD_PROJECT']
  if (!projectId) return undefined
  const { FIRESTORE_EMULATOR_HOST: emulator, K_SERVICE: service, GOOGLE_APPLICATION_CREDENTIALS: keys } = env
  if (emulator) return new FirestoreRest(`http://${emulator}`, projectId, EMULATOR_TOKEN)
  if (!service || keys || env['FUNCTIONS_EMULATOR'] === 'true') return undefined
  return new FirestoreRest('https://firestore.googleapis.com', projectId, new MetadataToken())
}
