import type {
  AskedConsent,
  Digest,
  FailureKind,
  InvocationResult,
  JsonObject,
  JsonValue,
  ResourceUsage,
  RuleDecision,
  ToolLimits,
  ToolrackError,
  ToolResult,
} from '@toolrack/contract'
import type { Principal } from '../access/principal.ts'
import type { CatalogEntry } from '../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../catalog/views/catalog-view.ts'
import type { HowRun } from '../catalog/views/how-run.ts'
import type { JsonText } from '../json/json-text.ts'
import type { ArgumentFile, IsolationLevel, MadeContent, PrintedLog } from '../catalog/definitions/runner.ts'
import type { StoredSecrets } from '../redaction/stored-secrets.ts'
import type { SessionSelection } from '../catalog/views/session-selection.ts'

/** The request of one call, parsed. */
export type CallRequest = {
  /** A name or an alias. */
  readonly name: string
  readonly arguments: JsonObject
  /**
   * An object from the caller. The handler of the tool gets it as `caller`, together with the facts that the service itself
   * knows.
   */
  readonly context: JsonObject
  readonly expectedDigest: Digest | undefined
  /** The id of the approval that the call uses. An earlier attempt of the call has asked for this approval. */
  readonly approval?: string | undefined
  /** The arguments as they were sent, if an approval has replaced them. An idempotency key is bound to them. */
  readonly sentArguments?: JsonObject
  /** The arguments for which the approval was asked, if it has replaced them. The approval is bound to them. */
  readonly askedArguments?: JsonObject
  /** The approval whose edited arguments run in place of those that were sent, in this call or in the call that has made it. */
  readonly editedIn?: string | undefined
  /**
   * True if null means that an argument was omitted. In a vendor's strict mode, a model must write null for an omitted parameter.
   */
  readonly nullMeansOmitted?: boolean
  /** The dialect of the vendor whose model makes the call. Undefined if the format of the call does not reveal the vendor. */
  readonly dialect?: string | undefined
}

/** Those headers of a request that the steps of a call read. */
export type CallHeaders = {
  /**
   * The header `Idempotency-Key`: a later call with the same key does not run again. Each call of a dispatch has a different key.
   */
  readonly idempotencyKey: string | undefined
  /** The caller's W3C trace context, if a valid one was sent. It is in the log lines about the call and in its audit record. */
  readonly traceparent: string | undefined
}

/** An event that a streaming caller receives while the call runs. The result of the call is not one of these events. */
export type CallEvent =
  | { readonly type: 'start'; readonly invocationId: string }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly type: 'value'; readonly value: ResultData }

/** A call as a route or a step passes it to the pipeline. */
export type Asked = {
  readonly principal: Principal
  /** Reads and parses the request. Throws if it is not valid; a ToolrackError reaches the caller. */
  readonly read: () => CallRequest | Promise<CallRequest>
  readonly headers?: CallHeaders
  /** The id of the session through which the call is made. */
  readonly sessionId?: string | undefined
  /** True if the caller only asks what would happen to the call. The tool never runs. */
  readonly isDryRun?: boolean
  /** True if a model reads the text of the result, so that a long text is kept as an artifact and cut. */
  readonly cutsText?: boolean | undefined
  /** The id of the call that makes this call, if a step of that call makes it. */
  readonly parentInvocationId?: string
  /** Set if the call is made because of the failure of another one. Only a step can set it, never a request. */
  readonly following?: Following | undefined
  /**
   * Aborted when the caller has disconnected. Then the arguments are not checked any more, a tool that has not begun is not
   * started, and the runner kills the process of the call. The call ends with CANCELLED.
   */
  readonly signal: AbortSignal
  /**
   * Receives the events of the call. If it returns a promise, the tool's next events wait for it. An error that it throws is
   * logged and does not change the call.
   */
  readonly listen?: ((event: CallEvent) => unknown) | undefined
  /** Receives what is left of each limit that the call counts under, before the tool runs. Must not throw. */
  readonly tellLimits?: ((states: readonly LimitState[]) => void) | undefined
}

/** What is left of a limit of calls. The limit is one of calls that run at once, unless it has a window. */
export type LimitState = {
  readonly name: string
  readonly quota: number
  readonly left: number
  readonly windowSeconds?: number
  /** The seconds after which one call more is left. */
  readonly nextSeconds?: number
}

/** Why a call is made after the failure of another one, and what all calls after the same first failure share. */
export type Following = {
  /** `retry`: the same tool runs again. `fallback`: a tool takes the place of another one. */
  readonly as: 'retry' | 'fallback'
  /** The names of the tools that have failed, the first one first. None of them is called as a fallback again. */
  readonly failed: readonly string[]
  /** How many times as long as usual the call may take. */
  readonly timeoutFactor: number
  readonly shared: SharedByFollowing
}

/** What all calls share that follow the same first failure. */
export type SharedByFollowing = {
  /** How many more calls may be made. */
  callsLeft: number
  /** When all of them must have ended, in the milliseconds of `performance.now()`. */
  readonly endMs: number
  /** Aborted when the caller of the first call has disconnected, also if that call goes on because of its key. */
  readonly caller: AbortSignal
  /** A sentence about each call that did not help, for the answer. It has names and codes, and no text of a tool. */
  readonly notes: string[]
}

/** `invoke` makes a call. It never rejects: every error becomes a ToolResult. */
export type Pipeline = { readonly invoke: (asked: Asked) => Promise<Invocation> }

/** A call that has arrived. Its request has not been read yet. */
export type Received = Pick<
  Asked,
  'principal' | 'read' | 'signal' | 'sessionId' | 'tellLimits' | 'following' | 'cutsText'
> & {
  readonly invocationId: string
  readonly parentInvocationId: string | null
  readonly headers: CallHeaders
  readonly isDryRun: boolean
  /** Aborted when the caller has disconnected. Set only if `signal` is another one, because the call goes on without its caller. */
  readonly caller?: AbortSignal | undefined
  /** True if somebody listens to the events of the call. */
  readonly isHeard: boolean
  /**
   * Sends an event to a streaming caller. Never throws and never waits. Does nothing after the end of the call. If the caller
   * reads slowly, returns a promise, which never rejects: send the next event when it resolves.
   */
  readonly emit: (event: CallEvent) => Promise<void> | undefined
  /** Runs another call for a step of this call. The step passes `parentInvocationId: call.invocationId`. */
  readonly pipeline: Pipeline
}

export type Requested = Received & {
  readonly request: CallRequest
  /** When the request had been read: milliseconds of `performance.now()`. The deadline of the call counts from then. */
  readonly readAtMs: number
}

/** The secrets that the tool of a call gets. */
export type CallSecrets = {
  /** The values by the names under which the tool reads them. */
  readonly values: Readonly<Record<string, string>>
  /** Removes the values from everything that leaves the call. */
  readonly stored: StoredSecrets
  /** Why the call cannot run: a secret is not stored, or may not be given to the tool. */
  readonly refusal?: ToolrackError | undefined
}

export type Resolved = Requested & {
  /** What the session of the call allows. Undefined if the call names no session. */
  readonly session?: SessionSelection | undefined
  readonly view: CatalogView
  readonly entry: CatalogEntry
  readonly howRun: HowRun
  readonly limits: ToolLimits
  /** Undefined if the tool asks for no secrets. */
  readonly secrets?: CallSecrets | undefined
  /** The artifacts that the arguments name. The handler gets them as files. */
  readonly attached?: readonly ArgumentFile[] | undefined
  /** The most UTF-8 bytes of the text of the result, if a step keeps what is too long to be answered. */
  readonly resultBytesMax?: number | undefined
}

/** A call with the decision that the rules have made about it. */
export type Authorised = Resolved & {
  readonly decision: RuleDecision
  /** Every rule that asks about the call. */
  readonly asks?: readonly AskingRule[]
  /** The id of the approval that the call uses. Either the call has named it, or the service has found it. */
  readonly usedApproval?: string
}

/** A rule that asks about a call, or an owner's default that asks. `says` is a text that only equal rules have in common. */
export type AskingRule = Omit<RuleDecision, 'effect'> & { readonly says: string }

/** A call with the facts that are known so far. */
export type Known = Received & Partial<Authorised>

/** The value of a result. The value of a Python tool stays JSON text, which `jsonOf` writes unchanged into the answer. */
export type ResultData = JsonValue | JsonText

/** The outcome of a call. A step returns it unchanged, or a changed copy. */
export type CallOutcome = {
  /** The call with all known facts, so that the outer steps can read the facts that the inner steps have added. */
  readonly call: Known
  readonly result: ToolResult<ResultData>
  /** The level of isolation in which the runner ran the tool; null if no runner ran it. */
  readonly isolation: IsolationLevel | null
  readonly usage: ResourceUsage | null
  readonly log: PrintedLog | null
  /** How many calls the process of the tool had served before. Undefined if it had served none. */
  readonly reused?: number | undefined
  readonly executionTimeMs: number
  /** True if this is the kept result of an earlier call with the same idempotency key. */
  readonly replayed: boolean
  /** Images and files that the tool has returned. The step 'keep the content' makes artifacts of them. */
  readonly made?: readonly MadeContent[] | undefined
  /** How often the tool was called, if it was called again after a failure. */
  readonly attempts?: number | undefined
  /** The tool that has failed, and whose place another one has taken. */
  readonly fallbackFor?: string | undefined
  /** True if the result is only a part of what was asked. */
  readonly degraded?: boolean | undefined
  /** The id of the artifact that has the whole text of the result. */
  readonly artifact: string | null
  /** The approval that the call waits for. `expiresAt` is RFC 3339, UTC. */
  readonly approval: { readonly id: string; readonly expiresAt: string } | null
  /** The consent that the call lacks. Undefined unless its code is GRANTS_PENDING. */
  readonly consent?: AskedConsent
  /** How many seconds later the same call may succeed. Null if this is not known. */
  readonly retryAfterSeconds: number | null
  /** The kind of an exception of the tool, as its class says. Undefined if the class says none. */
  readonly failureKind?: Exclude<FailureKind, 'generic'> | undefined
  /**
   * How the run of this call itself has ended, if the outcome is that of a call which was made because of its failure. Records
   * of the call say this. The other call has records of its own.
   */
  readonly own?: CallOutcome | undefined
  /** The call of the fallback that has given the result. Its facts are in `meta` of the answer, in place of those of `call`. */
  readonly answeredBy?: Known | undefined
  /**
   * True if the tool may have run although the result does not show it: the caller disconnected after the call had been sent to
   * a runner, or an earlier attempt of the call may have run.
   */
  readonly mayHaveRun?: boolean
}

/** A call outcome as it is answered: its result also has `meta`, with facts about the call. */
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
