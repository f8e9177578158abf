/** The output that a call has printed. */
export type InvocationLog = {
  readonly invocationId: string
  readonly tool: string
  /** ISO 8601, UTC. */
  readonly at: string
  readonly text: string
  readonly truncated: boolean
}

/** The time for which a log is kept. */
export const LOG_KEPT_MS = 24 * 60 * 60 * 1_000

/** The most bytes of logs, counted by `logBytes`. If a user's logs have more than `userBytes`, the oldest are deleted at once. */
export type LogBounds = {
  readonly userBytes: number
  /** For all users together. Above it, the oldest logs of the user with the most bytes are deleted. Firestore does not use it. */
  readonly allBytes: number
}

/** `userBytes` is enough for 64 of the longest logs, or for 7,000 of one line. `allBytes` is enough for 64 such users. */
export const LOG_BOUNDS: LogBounds = { userBytes: 4 * 1024 * 1024, allBytes: 256 * 1024 * 1024 }

/** Bytes that are counted in addition to the text and the tool's name: for ids, times, and entries in the indexes of a store. */
const LOG_RECORD_BYTES = 512

export function logBytes({ tool, text }: InvocationLog): number {
  return Buffer.byteLength(text) + Buffer.byteLength(tool) + LOG_RECORD_BYTES
}

/** Keeps logs for 24 hours. Every store passes `test/support/invocation-logs.contract.ts`. */
export type InvocationLogs = {
  /** Rejects if the log cannot be kept. */
  readonly keep: (uid: string, log: InvocationLog) => Promise<void>
  /** Undefined for a log that was never kept, was kept too long ago, or belongs to another user. */
  readonly find: (uid: string, invocationId: string) => Promise<InvocationLog | undefined>
  readonly close: () => Promise<void>
}
