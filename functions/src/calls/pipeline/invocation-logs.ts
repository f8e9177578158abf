/** What a call has printed. */
export type InvocationLog = {
  readonly invocationId: string
  readonly tool: string
  /** ISO 8601, UTC. */
  readonly at: string
  readonly text: string
  readonly truncated: boolean
}

/** How long a log is kept. */
export const LOG_KEPT_MS = 24 * 60 * 60 * 1_000

/** How many bytes of logs are kept, counted by `logBytes`. What goes beyond goes at once, the oldest first. */
export type LogBounds = {
  /** Of one user. */
  readonly userBytes: number
  /** Of all users together; then the user who has most loses the oldest. Firestore does not keep to it. */
  readonly allBytes: number
}

/** 64 of the longest logs, or 7,000 of one line, in 24 hours; and as much as 64 such users have. */
export const LOG_BOUNDS: LogBounds = { userBytes: 4 * 1024 * 1024, allBytes: 256 * 1024 * 1024 }

/** What a log takes beside its text: ids, times, and its places in the indexes of a store. */
const LOG_RECORD_BYTES = 512

/** The bytes that a log counts. */
export function logBytes({ tool, text }: InvocationLog): number {
  return Buffer.byteLength(text) + Buffer.byteLength(tool) + LOG_RECORD_BYTES
}

/**
 * Keeps what calls have printed, for their callers, for 24 hours and within `LogBounds`. Every implementation passes
 * `test/support/invocation-logs.contract.ts`.
 */
export type InvocationLogs = {
  /** Rejects when it cannot be kept. */
  readonly keep: (uid: string, log: InvocationLog) => Promise<void>
  /** Undefined for what was never kept, was kept too long ago, or is another's. */
  readonly find: (uid: string, invocationId: string) => Promise<InvocationLog | undefined>
  readonly close: () => Promise<void>
}
