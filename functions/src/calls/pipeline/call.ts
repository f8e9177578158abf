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
  /** The `Idempotency-Key`. Each call of a dispatch has one of its own. */
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | undefined
}

/** What a streaming caller is told while the call runs. The result is not an event: it is the answer. */
export type CallEvent =
  | { readonly type: 'start'; readonly invocationId: string }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly type: 'value'; readonly value: JsonValue }

/** A call as the edge, or a step, gives it to the pipeline. */
export type Asked = {
  readonly principal: Principal
  /** Reads and parses the request. Throws what is wrong with it. A ToolrackError reaches the caller. */
  readonly read: () => CallRequest | Promise<CallRequest>
  readonly headers?: CallHeaders
  /** The call that makes this one, where a step makes it. */
  readonly parentInvocationId?: string
  /** Aborted when the caller has gone. Only the runner acts on it, and kills the child. The other steps go on. */
  readonly signal: AbortSignal
  /** Receives the events of the call. What it throws is logged and changes nothing. */
  readonly listen?: (event: CallEvent) => void
}

/** Where the edge, and every step, makes calls. */
export type Pipeline = {
  /** Never rejects: whatever happens becomes a ToolResult. */
  readonly invoke: (asked: Asked) => Promise<Invocation>
}

/** A call has arrived. Nothing of its request has been read yet. */
export type Received = Pick<Asked, 'principal' | 'read' | 'signal'> & {
  readonly invocationId: string
  readonly parentInvocationId: string | null
  readonly headers: CallHeaders
  /** Tells a streaming caller. Never throws and never waits. After the answer it does nothing. */
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

/** A call as far as it came. */
export type Known = Received & Partial<Resolved>

/** The value of a result. That of a Python tool is never parsed here: `jsonOf` writes it into the answer. */
export type ResultData = JsonValue | JsonText

/** What became of a call. A step returns it as it is, or a changed copy. */
export type CallOutcome = {
  /** The call as far as it came. The outer steps read here what the inner ones found out. */
  readonly call: Known
  readonly result: ToolResult<ResultData>
  /** The level at which the runner isolated the tool; null where no runner ran it. */
  readonly isolation: IsolationLevel | null
  readonly usage: ResourceUsage | null
  readonly log: PrintedLog | null
  readonly executionTimeMs: number
  /** Whether the result is that of an earlier call. */
  readonly replayed: boolean
  /** The id of the artifact that holds the whole result. */
  readonly artifact: string | null
  /** The approval that the call waits for. `expiresAt` is RFC 3339, UTC. */
  readonly approval: { readonly id: string; readonly expiresAt: string } | null
  /** When the same call may succeed, where that is known. */
  readonly retryAfterSeconds: number | null
}

/** An answered call: its outcome, and the result with its `meta`. */
export type Invocation = CallOutcome & { readonly result: InvocationResult<ResultData> }

/** The outcome of a call of which nothing is known but its result. */
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
