import type { Firestore, Settings } from 'firebase-admin/firestore'
import { FirestoreConnection } from './firestore-connection.ts'
import { FirestoreRest } from './firestore-rest.ts'
import { EMULATOR_TOKEN, MetadataToken } from './metadata-token.ts'

/**
 * The deadlines of calls to Firestore, in milliseconds. The catalog stops waiting for a read earlier. So these deadlines also end
 * calls for which nobody waits.
 */
export const STORE_DEADLINES = {
  /** The deadline for reading a layer's revision, or its changes. */
  readMs: 5_000,
  wholeReadMs: 30_000,
  /** How long a write waits for earlier writes of this process. Then it is refused without an attempt. */
  turnMs: 30_000,
  /** The deadline for all attempts of a write together. It does not include the wait for earlier writes. */
  writeMs: 10_000,
}
export type StoreDeadlines = Readonly<typeof STORE_DEADLINES>

/** The connection to Firestore in the project that the environment names. */
export function firestoreConnection(env: NodeJS.ProcessEnv = process.env): FirestoreConnection {
  return new FirestoreConnection(() => connectFirestore(env), firestoreRest(env))
}

/**
 * The settings of the client. The client's defaults have three problems:
 *
 * - A call may take five minutes, and ten with its repetitions. So many calls would wait on a dead connection.
 * - After a long outage, the client waits two minutes before it connects again.
 * - The client sends no pings, so it never notices a connection that drops all data.
 */
export function firestoreSettings({ readMs, wholeReadMs, writeMs } = STORE_DEADLINES): Settings {
  const methods = {
    BatchGetDocuments: { timeout_millis: readMs },
    RunQuery: { timeout_millis: wholeReadMs },
    RunAggregationQuery: { timeout_millis: readMs },
    // A commit is not repeated by itself. Only if the whole transaction is repeated, it becomes known whether an unanswered
    // commit was done.
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

/** Makes the client directly, without firebase-admin, which would take a quarter more time to load. */
async function connectFirestore(env: NodeJS.ProcessEnv): Promise<Firestore> {
  // The emulator needs no credentials. Without this setting, the client would search for a metadata server and warn that there is
  // none.
  if (env['FIRESTORE_EMULATOR_HOST']) env['METADATA_SERVER_DETECTION'] ??= 'none'
  const { Firestore } = await import('@google-cloud/firestore')
  return new Firestore(firestoreSettings())
}

/**
 * Access to Firestore by REST, if this service can find the credentials itself. This is so for the emulator, and on Cloud Run,
 * where each instance has a service account (Cloud Functions run on Cloud Run). Undefined for other credentials, such as a file
 * of keys, which only the client can find.
 */
function firestoreRest(env: NodeJS.ProcessEnv): FirestoreRest | undefined {
  const projectId = env['GOOGLE_CLOUD_PROJECT'] || env['GCLOUD_PROJECT']
  if (!projectId) return undefined
  const { FIRESTORE_EMULATOR_HOST: emulator, K_SERVICE: service, GOOGLE_APPLICATION_CREDENTIALS: keys } = env
  if (emulator) return new FirestoreRest(`http://${emulator}`, projectId, EMULATOR_TOKEN)
  if (!service || keys || env['FUNCTIONS_EMULATOR'] === 'true') return undefined
  return new FirestoreRest('https://firestore.googleapis.com', projectId, new MetadataToken())
}
