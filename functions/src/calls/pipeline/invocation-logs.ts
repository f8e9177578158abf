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

/** How many bytes of logs are kept, counted by `logBytes`. Beyond that, the oldest logs are deleted at once. */
export type LogBounds = {
  readonly userBytes: number
  /** Of all users together. Beyond that, the user who has the most loses the oldest. Firestore does not use this bound. */
  readonly allBytes: number
}

/** A user has room for 64 of the longest logs, or 7,000 of one line. All users together have room for 64 such users. */
export const LOG_BOUNDS: LogBounds = { userBytes: 4 * 1024 * 1024, allBytes: 256 * 1024 * 1024 }

/** What a log takes besides its text: ids, times, and its places in the indexes of a store. */
const LOG_RECORD_BYTES = 512

export function logBytes({ tool, text }: InvocationLog): number {
  return Buffer.byteLength(text) + Buffer.byteLength(tool) + LOG_RECORD_BYTES
}

/** Keeps what calls have printed, for 24 hours. Every store passes `test/support/invocation-logs.contract.ts`. */
export type InvocationLogs = {
  /** Rejects if the log cannot be kept. */
  readonly keep: (uid: string, log: InvocationLog) => Promise<void>
  /** Undefined for a log that was never kept, was kept too long ago, or belongs to another user. */
  readonly find: (uid: string, invocationId: string) => Promise<InvocationLog | undefined>
  readonly close: () => Promise<void>
}
