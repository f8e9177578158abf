import type { Firestore, Settings } from 'firebase-admin/firestore'
import { FirestoreConnection } from './firestore-connection.ts'
import { FirestoreRest } from './firestore-rest.ts'
import { EMULATOR_TOKEN, MetadataToken } from './metadata-token.ts'

/** How long the store may take, in milliseconds. The catalog waits less. These deadlines end calls that nobody waits for. */
export type StoreDeadlines = {
  /** A look at a layer's revision, or at its changes. */
  readonly readMs: number
  readonly wholeReadMs: number
  /** How long a write waits for those before it in the same process. When this is over, the write has not been tried. */
  readonly turnMs: number
  /** A write with all its attempts, from the moment when its turn has come. */
  readonly writeMs: number
}

export const STORE_DEADLINES: StoreDeadlines = {
  readMs: 5_000,
  wholeReadMs: 30_000,
  turnMs: 30_000,
  writeMs: 10_000,
}

/** Firestore of the project that the environment names. */
export function firestoreConnection(env: NodeJS.ProcessEnv = process.env): FirestoreConnection {
  return new FirestoreConnection(() => connectFirestore(env), firestoreRest(env))
}

/**
 * The settings of the client. Its own deadlines are up to five minutes, and ten with repetitions, so calls on a dead connection
 * would pile up. It would wait two minutes before it connects again after a long outage. Without pings it never notices a
 * connection that silently drops everything.
 */
export function firestoreSettings({ readMs, wholeReadMs, writeMs } = STORE_DEADLINES): Settings {
  const methods = {
    BatchGetDocuments: { timeout_millis: readMs },
    RunQuery: { timeout_millis: wholeReadMs },
    RunAggregationQuery: { timeout_millis: readMs },
    // The transaction itself is repeated, and only it can see whether an unanswered commit has happened.
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

/** The client without firebase-admin around it, which would take a quarter longer to load. */
async function connectFirestore(env: NodeJS.ProcessEnv): Promise<Firestore> {
  // Against the emulator nobody has credentials, and looking for a metadata server only warns that there is none.
  if (env['FIRESTORE_EMULATOR_HOST']) env['METADATA_SERVER_DETECTION'] ??= 'none'
  const { Firestore } = await import('@google-cloud/firestore')
  return new Firestore(firestoreSettings())
}

/**
 * REST, if the account is known: against the emulator, and on Cloud Run (which Cloud Functions use too) as the service
 * account of the instance. The client finds other credentials, such as a file of keys, by itself.
 */
function firestoreRest(env: NodeJS.ProcessEnv): FirestoreRest | undefined {
  const projectId = env['GOOGLE_CLOUD_PROJECT'] || env['GCLOUD_PROJECT']
  if (!projectId) return undefined
  const { FIRESTORE_EMULATOR_HOST: emulator, K_SERVICE: service, GOOGLE_APPLICATION_CREDENTIALS: keys } = env
  if (emulator) return new FirestoreRest(`http://${emulator}`, projectId, EMULATOR_TOKEN)
  if (!service || keys || env['FUNCTIONS_EMULATOR'] === 'true') return undefined
  return new FirestoreRest('https://firestore.googleapis.com', projectId, new MetadataToken())
}
