import type {
  Digest,
  InvocationResult,
  JsonObject,
  JsonValue,
  ResourceUsage,
  ToolLimits,
  ToolResult,
} from '@toolrack/contract'
import type { JsonText } from '../../tools/json/json-text.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { HowRun } from '../../tools/catalog/how-run.ts'
import type { IsolationLevel, PrintedLog } from '../../tools/modules/runner.ts'

/** What a caller asks for, parsed. */
export type CallRequest = {
  /** A name or an alias. */
  readonly name: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  readonly expectedDigest: Digest | undefined
  /** Whether null means "left out" for a parameter that does not take null. Strict models must write every parameter. */
  readonly nullLeavesOut?: boolean
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

/** What the edge, or a step, hands to the pipeline. */
export type Asked = {
  readonly principal: Principal
  /** Reads and parses the request. Throws what is wrong with it; a ToolrackError is told to the caller. */
  readonly read: () => CallRequest | Promise<CallRequest>
  readonly headers?: CallHeaders
  /** The call that makes this one, where a step makes it. */
  readonly parentInvocationId?: string
  /** Aborted when the caller has gone. Only the runner acts on it and kills the child; the other steps go on. */
  readonly signal: AbortSignal
  /** Hears the events of the call. What it throws is logged and changes nothing. */
  readonly listen?: (event: CallEvent) => void
}

/** Where calls are made: the edge has it, and so does every step. */
export type Pipeline = {
  /** Never rejects: whatever happens becomes a ToolResult. */
  readonly invoke: (asked: Asked) => Promise<Invocation>
}

/** A call has arrived. Nothing of its request has been read yet. */
export type Received = {
  readonly invocationId: string
  readonly parentInvocationId: string | null
  readonly principal: Principal
  readonly headers: CallHeaders
  readonly read: Asked['read']
  readonly signal: AbortSignal
  /** Tells a streaming caller. Never throws and never waits; after the answer it does nothing. */
  readonly emit: (event: CallEvent) => void
  /** A step makes another call here, with `parentInvocationId: call.invocationId`. */
  readonly pipeline: Pipeline
}

/** The request has been read. */
export type Requested = Received & { readonly request: CallRequest }

/** The tool has been found. */
export type Resolved = Requested & {
  readonly view: CatalogView
  readonly entry: CatalogEntry
  readonly howRun: HowRun
  readonly limits: ToolLimits
}

/** What became known of a call before it ended. */
export type Known = Received & Partial<Resolved>

/** The value of a result. That of a Python tool is never parsed here: `jsonOf` writes it into the answer. */
export type ResultData = JsonValue | JsonText

/** How a call ended. A step hands it outwards as it is, or a changed copy. */
export type Outcome = {
  /** The call as far as it came: the outer steps read here what the inner ones found out. */
  readonly call: Known
  readonly result: ToolResult<ResultData>
  /** The level at which the runner isolated the tool; null where no runner ran it. */
  readonly isolation: IsolationLevel | null
  readonly usage: ResourceUsage | null
  /** What the tool printed. */
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
export type Invocation = Outcome & { readonly result: InvocationResult<ResultData> }

/** The outcome of a call of which nothing is known but its result. */
export function outcomeOf(call: Known, result: ToolResult<ResultData>): Outcome {
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
