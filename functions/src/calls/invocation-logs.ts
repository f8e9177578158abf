import type { Digest, ErrorCode, ResourceUsage, RuleDecision } from '@toolrack/contract'
import type { PrintedLog } from '../catalog/definitions/runner.ts'

/** The facts of a call that has ended, without its arguments, its result and the text of its error. */
export type CallFacts = {
  readonly invocationId: string
  /** The id of the call that made this call; null if no call did. */
  readonly parentInvocationId: string | null
  /** The name of the tool. If no tool was found: the requested name, if it can be the name of a tool. */
  readonly tool: string | null
  /** Null if the tool was not found. */
  readonly digest: Digest | null
  readonly revision: string | null
  /** The time at which the call arrived: ISO 8601, UTC, with milliseconds. */
  readonly at: string
  readonly durationMs: number
  readonly outcome: 'success' | 'failure'
  /** The code of a failure. */
  readonly code: ErrorCode | null
  readonly isolation: string | null
  readonly usage: ResourceUsage | null
  readonly replayed: boolean
  readonly dryRun: boolean
  /** The workflow of the job token that made the call. */
  readonly workflow: string | null
  /** The decision of the rules; null if the call ended before the rules were asked. */
  readonly decision: RuleDecision | null
  /** The ids of the artifacts that the call has made. Absent if there are none. */
  readonly artifacts?: readonly string[]
}

/** A call as it is listed. `hasLog` says whether it printed anything. */
export type FoundCall = CallFacts & { readonly hasLog: boolean }

/** A call with what it printed. */
export type InvocationLog = CallFacts & { readonly log: PrintedLog | null }

/** The time for which a call is kept. */
export const LOG_KEPT_MS = 24 * 60 * 60 * 1_000

/**
 * The most bytes of kept calls, as `logBytes` counts them. If one user's calls have more than `userBytes`, that user's oldest
 * calls are deleted at once.
 */
export type LogBounds = {
  readonly userBytes: number
  /**
   * The most bytes of the calls of all users together. If there are more, the oldest calls of the user with the most bytes are
   * deleted. Not used with Firestore.
   */
  readonly allBytes: number
}

/**
 * `userBytes` is enough for 63 of the longest logs, or for 4,000 calls that print nothing. `allBytes` is enough for 64 users who
 * each use all of their `userBytes`.
 */
export const LOG_BOUNDS: LogBounds = { userBytes: 4 * 1024 * 1024, allBytes: 256 * 1024 * 1024 }

/** Bytes that are counted in addition to the text and the facts: for ids, times, and entries in the indexes of a store. */
const LOG_RECORD_BYTES = 512

/** `facts` is the `factsText` of the call, if it is known already. */
export function logBytes(call: InvocationLog, facts: string = factsText(call)): number {
  return LOG_RECORD_BYTES + Buffer.byteLength(facts) + Buffer.byteLength(call.log?.text ?? '')
}

/** The facts of a call as JSON text, which a store keeps. */
export function factsText(call: InvocationLog): string {
  return JSON.stringify(foundCall(call))
}

export function foundCall({ log, ...facts }: InvocationLog): FoundCall {
  return { ...facts, hasLog: log !== null }
}

/**
 * Makes a kept call of the JSON text of its facts, and its log. The facts are not checked, because this service has written them.
 */
export function keptCall(facts: string, log: PrintedLog): InvocationLog {
  const { hasLog, ...call } = JSON.parse(facts) as FoundCall
  return { ...call, log: hasLog ? log : null }
}

/** The position of a call in the list of calls. It stays valid if this call is deleted. */
export type CallPosition = Pick<CallFacts, 'at' | 'invocationId'>

/** Selects the calls of a page. A filter that is undefined lets every call pass. */
export type CallsQuery = {
  readonly tool?: string | undefined
  /** `success`, `failure`, or the code of a failure. */
  readonly outcome?: CallFacts['outcome'] | ErrorCode | undefined
  readonly workflow?: string | undefined
  /** The earliest `at`. */
  readonly since?: string | undefined
  /** The page begins with the newest call that is older than this one. */
  readonly before?: CallPosition | undefined
  readonly limit: number
}

/** Keeps every call for 24 hours, with its log. Every store passes `test/support/invocation-logs.contract.ts`. */
export type InvocationLogs = {
  /** Rejects if the call cannot be kept. */
  readonly keep: (uid: string, call: InvocationLog) => Promise<void>
  /** Undefined for a call that was never kept, was kept too long ago, or belongs to another user. */
  readonly find: (uid: string, invocationId: string) => Promise<InvocationLog | undefined>
  /** The user's calls, newest first: by the time at which they arrived, then by id. */
  readonly page: (uid: string, query: CallsQuery) => Promise<readonly FoundCall[]>
  readonly close: () => Promise<void>
}
