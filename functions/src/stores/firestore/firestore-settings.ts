import type { Settings } from 'firebase-admin/firestore'

/** How long an answer of the store may take, in milliseconds. The catalog waits less; this ends what it no longer waits for. */
export type StoreDeadlines = {
  /** A look at a layer's revision, or at its changes. */
  readonly readMs: number
  readonly wholeReadMs: number
  /** How long a write waits for those before it in the same process; then it has not been tried. */
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

/**
 * What the client must be told. Its own deadlines are up to five minutes and ten with repetitions, so that calls on a
 * dead connection would pile up; it would wait two minutes before it connects again after a long outage; and a
 * connection that silently drops everything is never noticed without pings.
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
