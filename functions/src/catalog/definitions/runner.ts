import {
  ToolrackError,
  type Digest,
  type ErrorCode,
  type FailureKind,
  type JsonObject,
  type ResourceUsage,
} from '@toolrack/contract'
import type { JsonText } from '../../json/json-text.ts'
import type { CheckReport } from './check-report.ts'
import type { ModuleContent } from './module-content.ts'
import type { PackageLock } from './package-lock.ts'

/** The runner that runs tools in isolation, as the service uses it. */
export type Runner = {
  /** The present state of the runner. Never rejects. Resolves before a caller of `/health` stops waiting. */
  readonly health: () => Promise<RunnerHealth>
  /** Runs one call, at most once. Rejects only if the call's `source` rejects. */
  readonly invoke: (call: RunnerCall) => Promise<RunnerOutcome>
  /**
   * Checks a module. Rejects with RUNNER_UNAVAILABLE, RUNNER_BUSY, ISOLATION_UNAVAILABLE, PACKAGES_UNAVAILABLE or
   * PACKAGES_REFUSED.
   */
  readonly check: (module: ModuleCheck) => Promise<CheckReport>
  /**
   * Ends the idle processes that are ready for calls of a module. Never rejects. If a process cannot be reached, it ends by
   * itself later.
   */
  readonly forget: (module: ForgottenModule) => Promise<void>
  /** Closes the connections to the runner, and ends its process if the service started it. */
  readonly close: () => Promise<void>
}

/** The content of a module, and the lock of its packages if it has any. */
export type LockedContent = ModuleContent & { readonly lock?: PackageLock | undefined }

/** A module with its name and its content. The name is the name of its file without `.py`, or the name of its folder. */
export type ModuleSource = ModuleContent<Uint8Array> & { readonly name: string }

/** A module to check, and the user who uploaded it. Modules of the watched folder have no user. */
export type ModuleCheck = ModuleSource & {
  readonly tenant?: string | undefined
  /** The lock to use. If it is missing, and the module asks for packages, the runner resolves them. */
  readonly lock?: PackageLock | undefined
  /** Called with a sentence about the work so far, at least once a second while packages are installed. */
  readonly onProgress?: ((text: string) => void) | undefined
  /** Aborted when the caller has disconnected. Then the check does not wait any longer for a runner that is starting. */
  readonly signal?: AbortSignal | undefined
}

/** A version of a module that is not used any more: by the user `tenant` or, without a tenant, by any user. */
export type ForgottenModule = {
  readonly tenant?: string | undefined
  readonly module: string
  readonly sha256: string
}

/** The levels of isolation that a runner measures. L0 stops no attack. Each level stops more attacks than the level before. */
export const ISOLATION_LEVELS = ['L0', 'L1', 'L2', 'L3', 'L4'] as const
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number]

/** The state of the runner. A runner that is ready reports facts about itself. Facts without a field here are shown unchanged. */
export type RunnerHealth =
  | { readonly status: 'ready'; readonly isolation: IsolationLevel; readonly [fact: string]: unknown }
  | RunnerAway

/** A runner that does not accept calls: not yet, never, or no longer. The reason is a sentence for the operator. */
export type RunnerAway = {
  readonly status: 'starting' | 'absent' | 'unreachable'
  readonly reason: string
}

/** The facts about a call that a handler gets in its parameter `context`. The runner adds the deadline. */
export type CallContext = {
  readonly user: string
  readonly invocationId: string
  /** The canonical name of the tool. */
  readonly tool: string
  readonly session: string | null
  /** The workflow that a job token names. */
  readonly workflow: string | null
  /** The `context` that the caller of the service sent. Nobody has checked that it is true. */
  readonly caller: JsonObject
  /** The stored secrets that the spec of the tool names. */
  readonly secrets?: Readonly<Record<string, string>>
}

/** A file for a handler. `pointer` is the JSON Pointer of the argument that the file's path replaces. */
export type ArgumentFile = {
  readonly pointer: string
  readonly name: string
  readonly bytes: Uint8Array
}

/** An image or a file that a tool has returned. The service has checked neither its name nor its type. */
export type MadeContent = {
  readonly type: 'image' | 'file'
  readonly mimeType: string
  readonly name: string
  readonly bytes: Uint8Array
}

export type RunnerCall = {
  readonly module: string
  readonly sha256: string
  readonly tool: string
  readonly arguments: JsonObject
  readonly context: CallContext
  /** The calling user. No process serves two users. */
  readonly tenant: string
  readonly invocationId: string
  /** The valid trace context of the caller, for the runner's log lines. Undefined if the caller has sent none. */
  readonly traceparent?: string | undefined
  readonly deadlineMs: number
  /** The memory that the call may use. If undefined, the runner decides. */
  readonly memoryBytes?: number | undefined
  readonly minIsolation: IsolationLevel | undefined
  readonly attached?: readonly ArgumentFile[] | undefined
  /** The UTF-8 bytes that a result may have. The runner answers RESULT_TOO_LARGE for a larger one. */
  readonly resultBytesMax: number
  /** The hosts that the call may connect to. If there are no hosts, the call has no network. */
  readonly network: readonly string[]
  /** The digest of the module's lock. Undefined if the module has no packages of its own. */
  readonly environment?: Digest | undefined
  /** How many calls one process may serve. Undefined if it serves only this one. */
  readonly reuse?: number | undefined
  /** The session of the call. A process that serves several calls serves only calls of one session. Undefined if there is none. */
  readonly session?: string | undefined
  /**
   * Gives the source of the module, and its lock if it has one, to the runner, if the runner does not have them. Resolves to
   * undefined if the module was deleted.
   */
  readonly source: () => Promise<LockedContent | undefined>
  /** A signal that is aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal
  /** Receives the events of the call. Without it, the runner sends no values before the outcome. */
  readonly listen?: RunnerListener | undefined
}

/**
 * An event that a tool reports while it runs. `value` is the JSON text of a value that the tool has yielded, as Python wrote it.
 */
export type RunnerEvent =
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly type: 'value'; readonly value: JsonText }

/** Receives an event. If it returns a promise, the next event waits until the promise resolves. The promise never rejects. */
export type RunnerListener = (event: RunnerEvent) => Promise<void> | undefined

export type PrintedLog = { readonly text: string; readonly truncated: boolean }

/** The value that the tool returned, or the reason why there is none. */
export type RunnerOutcome = RunnerReturn | RunnerFailure

/** The result of a tool: `text` if it returned a text, `json` for any other value. The service does not parse the JSON. */
export type RunnerReturn = ({ readonly text: string } | { readonly json: string }) & {
  readonly isolation: IsolationLevel
  readonly usage: ResourceUsage
  readonly log: PrintedLog
  /** The images and files in the result, in their order. */
  readonly made?: readonly MadeContent[] | undefined
  /** How many calls the process had served before. Undefined if it had served none. */
  readonly reused?: number | undefined
}

/**
 * A call without a result. If the tool did not run, there is no isolation, no usage and no log. A call that was lost can have a
 * log, but no isolation and no usage.
 */
export type RunnerFailure = {
  readonly code: ErrorCode
  readonly error: string
  /** The kind of the exception, as its class says. Only with TOOL_RAISED, and undefined if the class says none. */
  readonly kind?: Exclude<FailureKind, 'generic'> | undefined
  readonly isolation?: IsolationLevel
  readonly usage?: ResourceUsage
  readonly log?: PrintedLog
  readonly reused?: number | undefined
  readonly retryAfterSeconds?: number
  /** True if the call was CANCELLED after it was sent. */
  readonly mayHaveRun?: boolean
}

/** Makes a Runner that refuses everything, for a service without a runner. `reason` says why there is none. */
export function absentRunner(reason: string): Runner {
  return {
    health: () => Promise.resolve({ status: 'absent', reason }),
    invoke: () => Promise.resolve({ code: 'RUNNER_UNAVAILABLE', error: `Nothing was run: ${reason}` }),
    check: () => Promise.reject(new ToolrackError('RUNNER_UNAVAILABLE', noCheck(reason))),
    forget: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/** The message for an upload when no runner can check it. */
export function noCheck(reason: string): string {
  return `No module can be checked here, so nothing was written. ${reason}`
}
