import { ToolrackError, type ErrorCode, type JsonObject, type ResourceUsage } from '@toolrack/contract'
import type { CheckReport } from './check-report.ts'

/** The runner that runs tools in isolation, as the service uses it. */
export type Runner = {
  /** The state of the runner now. Never rejects, and never takes longer than a caller of `/health` would wait. */
  readonly health: () => Promise<RunnerHealth>
  /** Runs one call, at most once. Rejects only if the call's own `source` does. */
  readonly invoke: (call: RunnerCall) => Promise<RunnerOutcome>
  /** The report on a module. Rejects with RUNNER_UNAVAILABLE, RUNNER_BUSY or ISOLATION_UNAVAILABLE. */
  readonly check: (module: ModuleCheck) => Promise<CheckReport>
  /** Ends the processes that wait for calls of a module. Never rejects: processes that it does not reach end by themselves later. */
  readonly forget: (module: ForgottenModule) => Promise<void>
  /** Ends everything that was started for the runner. */
  readonly close: () => Promise<void>
}

/** The file of a module: its name without `.py`, and its bytes. */
export type ModuleSource = { readonly name: string; readonly source: Uint8Array }

/** A module to check, and the user who uploaded it. The service checks modules of its folder without a user. */
export type ModuleCheck = ModuleSource & { readonly tenant?: string | undefined }

/** A module that is not called any more: by one user, or without a tenant by all users. */
export type ForgottenModule = {
  readonly tenant?: string | undefined
  readonly module: string
  readonly sha256: string
}

export type RunnerHealth = RunnerReady | RunnerAway

/** The levels of isolation that a runner measures. L0 holds no attack; each level holds those of the level before, and more. */
export const ISOLATION_LEVELS = ['L0', 'L1', 'L2', 'L3', 'L4'] as const
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number]

/** The runner takes calls. Its other facts go on to the reader unchanged. */
export type RunnerReady = {
  readonly status: 'ready'
  readonly isolation: IsolationLevel
  readonly [fact: string]: unknown
}

/** The runner takes no calls: not yet, or not at all, or not any more. The reason is a sentence for the operator. */
export type RunnerAway = {
  readonly status: 'starting' | 'absent' | 'unreachable'
  readonly reason: string
}

export type RunnerCall = {
  readonly module: string
  readonly sha256: string
  readonly tool: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  /** The user who calls. No process serves two users. */
  readonly tenant: string
  readonly invocationId: string
  readonly deadlineMs: number
  readonly minIsolation: IsolationLevel | undefined
  /** The UTF-8 bytes that a result may have. The runner answers RESULT_TOO_LARGE for a larger one. */
  readonly resultBytesMax: number
  /** The hosts that it may connect to. Without any, it has no network. */
  readonly network: readonly string[]
  /** The source of the module, called if the runner does not have it. Undefined if the module is gone. */
  readonly source: () => Promise<string | undefined>
  /** Aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal
}

export type PrintedLog = { readonly text: string; readonly truncated: boolean }

/** What the tool returned, or why it returned nothing. */
export type RunnerOutcome = RunnerReturn | RunnerFailure

/** The text that the tool returned, or the JSON of any other value, which the service does not parse. */
export type RunnerReturn = ({ readonly text: string } | { readonly json: string }) & {
  readonly isolation: IsolationLevel
  readonly usage: ResourceUsage
  readonly log: PrintedLog
}

/** If nothing was run, there is no level, no usage and no log. */
export type RunnerFailure = {
  readonly code: ErrorCode
  readonly error: string
  readonly isolation?: IsolationLevel
  readonly usage?: ResourceUsage
  readonly log?: PrintedLog
  readonly retryAfterSeconds?: number
}

/** Used in place of a runner if there is none. */
export function absentRunner(reason: string): Runner {
  return {
    health: () => Promise.resolve({ status: 'absent', reason }),
    invoke: () => Promise.resolve({ code: 'RUNNER_UNAVAILABLE', error: `Nothing was run: ${reason}` }),
    check: () => Promise.reject(new ToolrackError('RUNNER_UNAVAILABLE', noCheck(reason))),
    forget: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/** The message for an upload that no runner can check. */
export function noCheck(reason: string): string {
  return `No module can be checked here, so nothing was written. ${reason}`
}
