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

/** Keeps what calls have printed, for their callers, for 24 hours. Every implementation passes `test/support/invocation-logs.contract.ts`. */
export type InvocationLogs = {
  /** Rejects when it cannot be kept. */
  readonly keep: (uid: string, log: InvocationLog) => Promise<void>
  /** Undefined for what was never kept, was kept too long ago, or is another's. */
  readonly find: (uid: string, invocationId: string) => Promise<InvocationLog | undefined>
  readonly close: () => Promise<void>
}
