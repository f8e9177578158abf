import type {
  Digest,
  InvocationResult,
  JsonObject,
  JsonValue,
  ResourceUsage,
  ToolLimits,
  ToolResult,
} from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { HowRun } from '../../tools/catalog/how-run.ts'
import type { JsonText } from '../../tools/json/json-text.ts'
import type { IsolationLevel, PrintedLog } from '../../tools/modules/runner.ts'

/** What a caller asks for, parsed. */
export type CallRequest = {
  /** A name or an alias. */
  readonly name: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  readonly expectedDigest: Digest | undefined
  /** True if a null argument means that the parameter was omitted. Strict models must write every parameter. */
  readonly nullMeansOmitted?: boolean
}

/** Headers of the request, as they were sent. No step reads them yet: a repeated `Idempotency-Key` runs the tool again. */
export type CallHeaders = {
  /** Each call of a dispatch has its own key. */
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | undefined
}

/** What a streaming caller receives while the call runs. The result is not an event: it is the answer. */
export type CallEvent =
  | { readonly type: 'start'; readonly invocationId: string }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly type: 'value'; readonly value: JsonValue }

/** A call as the edge or a step passes it to the pipeline. */
export type Asked = {
  readonly principal: Principal
  /** Reads and parses the request. Throws if it is not valid; a ToolrackError reaches the caller. */
  readonly read: () => CallRequest | Promise<CallRequest>
  readonly headers?: CallHeaders
  /** The id of the call that makes this one, if a step makes it. */
  readonly parentInvocationId?: string
  /** Aborted when the caller has gone. Only the runner acts on it, and kills the child. The other steps go on. */
  readonly signal: AbortSignal
  /** Receives the events of the call. If it throws, that is logged and changes nothing. */
  readonly listen?: (event: CallEvent) => void
}

export type Pipeline = {
  /** Makes a call. Never rejects: every error becomes a ToolResult. */
  readonly invoke: (asked: Asked) => Promise<Invocation>
}

/** A call that has arrived. Its request has not been read yet. */
export type Received = Pick<Asked, 'principal' | 'read' | 'signal'> & {
  readonly invocationId: string
  readonly parentInvocationId: string | null
  readonly headers: CallHeaders
  /** Sends an event to a streaming caller. Never throws and never waits. Does nothing after the answer. */
  readonly emit: (event: CallEvent) => void
  /** A step makes another call here, with `parentInvocationId: call.invocationId`. */
  readonly pipeline: Pipeline
}

export type Requested = Received & { readonly request: CallRequest }

export type Resolved = Requested & {
  readonly view: CatalogView
  readonly entry: CatalogEntry
  readonly howRun: HowRun
  readonly limits: ToolLimits
}

/** What is known of a call so far. */
export type Known = Received & Partial<Resolved>

/** The value of a result. That of a Python tool is never parsed here: `jsonOf` writes it into the answer. */
export type ResultData = JsonValue | JsonText

/** What became of a call. A step returns it unchanged, or a changed copy. */
export type CallOutcome = {
  /** What is known of the call. The outer steps read here what the inner steps found out. */
  readonly call: Known
  readonly result: ToolResult<ResultData>
  /** The level at which the runner isolated the tool; null if no runner ran it. */
  readonly isolation: IsolationLevel | null
  readonly usage: ResourceUsage | null
  readonly log: PrintedLog | null
  readonly executionTimeMs: number
  /** True if the result is that of an earlier call. */
  readonly replayed: boolean
  /** The id of the artifact that holds the whole result. */
  readonly artifact: string | null
  /** The approval that the call waits for. `expiresAt` is RFC 3339, UTC. */
  readonly approval: { readonly id: string; readonly expiresAt: string } | null
  /** After how long the same call may succeed, if that is known. */
  readonly retryAfterSeconds: number | null
}

/** An answered call: its outcome, and the result with its `meta`. */
export type Invocation = CallOutcome & { readonly result: InvocationResult<ResultData> }

/** The outcome of a call of which only the result is known. */
export function outcomeOf(call: Known, result: ToolResult<ResultData>): CallOutcome {
  return {
    call,
    result,
    isolation: null,
    usage: null,
    log: null,
    executionTimeMs: 0,
    replayed: false,
    artifact: null,
    approval: null,
    retryAfterSeconds: null,
  }
}
