import { ToolrackError } from '@toolrack/contract'
import type { ErrorCode, JsonObject, ResourceUsage } from '@toolrack/contract'
import type { CheckReport } from './check-report.ts'

/** What runs tools in isolation, as the service sees it. */
export type Runner = {
  /** How it is right now. Never rejects, and never takes longer than a caller of `/health` would wait. */
  readonly health: () => Promise<RunnerHealth>
  /** Runs one call, once at the most. Rejects only as the call's own `source` does. */
  readonly invoke: (call: RunnerCall) => Promise<RunnerOutcome>
  /** What a module holds. Rejects with RUNNER_UNAVAILABLE, RUNNER_BUSY or ISOLATION_UNAVAILABLE; then nothing was looked at. */
  readonly check: (module: ModuleCheck) => Promise<CheckReport>
  /** Ends the processes that wait for calls of a module. Never rejects: those that it does not reach end by themselves after a while. */
  readonly forget: (module: ForgottenModule) => Promise<void>
  /** Ends what was started for it. */
  readonly close: () => Promise<void>
}

/** The file of a module: its name without `.py`, and its bytes. */
export type ModuleSource = { readonly name: string; readonly source: Uint8Array }

/** A module that is to be checked, and for whom: nobody where the service does it by itself. */
export type ModuleCheck = ModuleSource & { readonly tenant?: string | undefined }

/** What is not to be called any more: for one user, or for everybody where there is no tenant. */
export type ForgottenModule = {
  readonly tenant?: string | undefined
  readonly module: string
  readonly sha256: string
}

export type RunnerHealth = RunnerReady | RunnerAway

/** The levels of isolation, as measured by the runner: nothing, then each what the one before holds and more. */
export const ISOLATION_LEVELS = ['L0', 'L1', 'L2', 'L3', 'L4'] as const
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number]

/** It takes calls; what it says of itself goes on to the reader as it is. */
export type RunnerReady = {
  readonly status: 'ready'
  readonly isolation: IsolationLevel
  readonly [fact: string]: unknown
}

/** It takes none: not yet, not at all, or not any more. The reason is a sentence for the operator. */
export type RunnerAway = {
  readonly status: 'starting' | 'absent' | 'unreachable'
  readonly reason: string
}

/** One call of a tool of a module. */
export type RunnerCall = {
  readonly module: string
  readonly sha256: string
  readonly tool: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  /** Whose call it is: no process ever serves two. */
  readonly tenant: string
  readonly invocationId: string
  readonly deadlineMs: number
  readonly minIsolation: IsolationLevel | undefined
  /** UTF-8 bytes that the result may have; a larger one ends at the runner as RESULT_TOO_LARGE. */
  readonly resultBytesMax: number
  /** The hosts that it may be connected to; none, and it has no network. */
  readonly network: readonly string[]
  /** The source of the module, asked for where the runner does not hold it; undefined when it is gone. */
  readonly source: () => Promise<string | undefined>
  /** Ends the call when nobody waits for it any more. */
  readonly signal: AbortSignal
}

export type PrintedLog = { readonly text: string; readonly truncated: boolean }

/** What came of a call: what the tool returned, or why it returned nothing. */
export type RunnerOutcome = RunnerReturn | RunnerFailure

/** A text that the tool returned, or the JSON of anything else, as it was written: nobody here parses it. */
export type RunnerReturn = ({ readonly text: string } | { readonly json: string }) & {
  readonly isolation: IsolationLevel
  readonly usage: ResourceUsage
  readonly log: PrintedLog
}

/** Where nothing ran there is neither a level, nor usage, nor a log. */
export type RunnerFailure = {
  readonly code: ErrorCode
  readonly error: string
  readonly isolation?: IsolationLevel
  readonly usage?: ResourceUsage
  readonly log?: PrintedLog
  readonly retryAfterSeconds?: number
}

/** Where there is no runner. */
export function absentRunner(reason: string): Runner {
  return {
    health: () => Promise.resolve({ status: 'absent', reason }),
    invoke: () => Promise.resolve({ code: 'RUNNER_UNAVAILABLE', error: `Nothing was run: ${reason}` }),
    check: () => Promise.reject(new ToolrackError('RUNNER_UNAVAILABLE', noCheck(reason))),
    forget: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/** What is said to who uploads a module where no runner can look at it. */
export function noCheck(reason: string): string {
  return `No module can be checked here, so nothing was written. ${reason}`
}
