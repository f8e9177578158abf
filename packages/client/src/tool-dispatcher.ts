import {
  answerCalls,
  CALL_FORMATS,
  findCalls,
  isCallId,
  isToolName,
  toolFailure,
  toolResult,
} from '@toolrack/contract'
import type {
  AnsweredCall,
  CallFormat,
  CallFormatName,
  FoundCall,
  JsonObject,
  JsonValue,
  Layer,
} from '@toolrack/contract'
import type { ReportedResult, ToolCall, ToolResult } from '@toolrack/contract'
import type { ByName } from './by-name.ts'
import { dryRunAtService } from './dry-run-at-service.ts'
import { optionInvalid, ToolsError, type CallResult } from './errors.ts'
import { invokeAtService, type CallBody, type CallEvent, type CallOptions } from './invoke-at-service.ts'
import { checkKey, runAtService, type DispatchOptions, type LeftCall } from './run-at-service.ts'
import { runLocally } from './run-locally.ts'
import { runnersByName, type AnyRunner, type Runner } from './runner.ts'
import { Service, type ServiceOptions } from './service.ts'
import { approvalIn, waitForApproval, type AskedApproval, type OnApproval } from './wait-for-approval.ts'

export type ToolDispatcherOptions = Partial<ServiceOptions> & {
  /** The tools that run in this program. Runners are searched before the service is asked: by name, then by alias. */
  readonly runners?: readonly AnyRunner[] | undefined
  /** The longest run of a Runner, or of one request to the service, in milliseconds. The default is 60,000. */
  readonly deadlineMs?: number | undefined
  /** Called when a call waits for an approval. Without it, such calls are pending in `dispatch`, and failures in `invoke`. */
  readonly onApproval?: OnApproval | undefined
}

/** The messages that answer a model's calls. */
export type Answered<Message extends object = JsonObject> = {
  /** The format of the calls, or null if there was no call. */
  readonly format: CallFormatName | null
  /** The messages to append after the model's answer. They have the vendor's shape and the order of the calls. */
  readonly messages: Message[]
}

/** The results of a model's calls. If calls are pending, append the messages of `complete`, and not these. */
export type Dispatched<Message extends object = JsonObject> = Answered<Message> & {
  /** One result for each call that is not pending, in the order of the calls. */
  readonly results: readonly CallResult[]
  /** The calls of workflows for which there is no Runner, and calls that wait for an approval. The caller gives their results to `complete`. */
  readonly pending: readonly PendingCall[]
}

export type PendingCall = PendingKind &
  Omit<CallResult, 'result'> & {
    /** The layer of the tool's definition. A user chooses the `workflowName` of a definition in the layer `user`. */
    readonly layer: Layer
    /** The arguments as an object. The service does not check them against the schema. */
    readonly arguments: JsonObject
    /** The call as the model wrote it. */
    readonly call: JsonObject
  }

type PendingKind =
  | { readonly kind: 'workflow'; readonly workflowName: string }
  /** When the approval is given, `invoke` with `approval: approval.id` makes the call. */
  | { readonly kind: 'approval'; readonly approval: AskedApproval; readonly workflowName?: undefined }

export type InvokeOptions = CallOptions & {
  /** Called with what the tool prints, while it runs. If a callback throws, the call is broken off. */
  readonly onLog?: ((text: string) => void) | undefined
  /** Called with the progress that the tool reports: a number between 0 and 1, and a text. */
  readonly onProgress?: ((fraction: number, text: string) => void) | undefined
}

/** What a service would do with a call. `rule` is the index of the rule of `owner` that has decided, or null for its default. */
export type DryRun = {
  readonly decision: 'allow' | 'ask'
  readonly owner: { readonly kind: 'everybody' | 'user' | 'workflow'; readonly id: string } | null
  readonly rule: number | null
  /** A sentence. */
  readonly reason: string
  /** What a call of the tool does, as far as it is known. */
  readonly effects: readonly string[]
  /** The limits of the call. None for a tool that runs in this program. */
  readonly limits: JsonObject
}

const RUNS_HERE: DryRun = {
  decision: 'allow',
  owner: null,
  rule: null,
  reason: 'The tool runs in this program, where no rules of a service apply.',
  effects: ['opaque'],
  limits: {},
}

/** Runs a model's calls. A call runs in this program if it has a Runner, otherwise at the service. */
export class ToolDispatcher {
  readonly #runners: ByName<Runner>
  readonly #service: Service | undefined
  readonly #deadlineMs: number
  readonly #onApproval: OnApproval | undefined

  /** Throws OPTION_INVALID, also if a Runner's definition has another name or if two Runners have the same name. */
  constructor({
    runners = [],
    deadlineMs = 60_000,
    onApproval,
    service,
    token,
    ...rest
  }: ToolDispatcherOptions) {
    this.#runners = runnersByName(runners)
    this.#deadlineMs = deadlineMs
    this.#onApproval = onApproval
    if (service === undefined) return
    if (token === undefined) throw optionInvalid('token is needed with service')
    this.#service = new Service({ ...rest, service, token })
  }

  /**
   * Runs the calls of a model's answer. The answer is a list of items of any vendor, or the message that holds the list.
   * Every call is answered or pending. A call of an unknown tool is answered with `Unsupported tool: NAME`. `Message` is the
   * vendor's type of the messages to append.
   *
   * It never rejects because of a tool, or because the service is not available. It rejects with:
   *
   * - CALLS_INVALID if there is no list of calls, or if an item looks like a call of no known format, before anything is run,
   * - CRYPTO_MISSING, before anything is run,
   * - TOKEN_FAILED or SERVICE_REFUSED, as `list` does, when the other calls have ended; `results` of the error has their results,
   * - the reason of `signal`.
   */
  async dispatch<Message extends object = JsonObject>(
    answer: object,
    options: DispatchOptions = {},
  ): Promise<Dispatched<Message>> {
    const { signal } = options
    signal?.throwIfAborted()
    checkKey(options.idempotencyKey)
    const { format, calls } = callsIn(answer)
    if (!format) return { format: null, messages: [], results: [], pending: [] }
    const runners = await Promise.all(calls.map(({ name }) => this.#runners.find(name)))
    const remote = calls.filter(({ fault }, at) => fault === undefined && !runners[at])
    const answers = this.#service && runAtService(this.#service, remote, this.#deadlineMs, options)
    const answering = calls.map(async (call, at) => {
      const { result, left } = (runners[at] ? undefined : await answers?.get(call)) ?? {}
      // If the service answers that the tool runs at the client, the call runs here if there is a Runner.
      const runner = runners[at] ?? this.#runners.get(left?.name ?? '')
      const pending = left && !runner ? pendingCall(call, left) : undefined
      const approved = left?.approval && !runner && (await this.#whenApproved(left, left.approval, signal))
      if (approved) return { call, result: approved }
      if (pending) return { pending }
      return { call, result: result ?? (await this.#runHere(call, runner, signal)) }
    })
    // If one call rejects, the others end first, so that no Runner goes on in the background.
    const settled = await Promise.allSettled(answering)
    const outcomes = settled.flatMap((one) => ('value' in one ? one.value : []))
    const answered = outcomes.flatMap((outcome) => (outcome.pending ? [] : outcome))
    const results = answered.map(({ call: { index, id = null, name }, result }) => ({
      index,
      id,
      name,
      result,
    }))
    const lost = settled.find((one) => 'reason' in one)
    // The reason of the signal is the caller's own object.
    if (lost) throw signal?.aborted ? lost.reason : Object.assign(lost.reason as ToolsError, { results })
    return {
      ...messagesOf<Message>(format, answered),
      results,
      pending: outcomes.flatMap((outcome) => outcome.pending ?? []),
    }
  }

  /**
   * Writes the messages for all calls of a model's answer. `results` has exactly one result for each call: the results of
   * `dispatch`, and those of the calls that were pending. It runs nothing and needs no service, so another run of the program
   * can do it later. Throws CALLS_INVALID.
   */
  complete<Message extends object = JsonObject>(
    answer: object,
    results: readonly { readonly index: number; readonly result: ReportedResult }[],
  ): Answered<Message> {
    const { format, calls } = callsIn(answer)
    const answered = answerCalls(calls, results)
    if ('fault' in answered) throw new ToolsError('CALLS_INVALID', `The list of results ${answered.fault}.`)
    return format ? messagesOf<Message>(format, answered) : { format: null, messages: [] }
  }

  /**
   * Runs one call, by the name or alias of its tool, in this program if it has a Runner, otherwise at the service. A failed or
   * lost call is a failure, which says whether the tool may have run. Rejects as `dispatch` does, and if a callback throws.
   */
  invoke(
    name: string,
    args: object | undefined,
    options: InvokeOptions & { readonly dryRun: true },
  ): Promise<ToolResult<DryRun>>
  invoke(name: string, args?: object, options?: InvokeOptions): Promise<ToolResult>
  async invoke(
    name: string,
    args: object = {},
    { onLog, onProgress, ...options }: InvokeOptions = {},
  ): Promise<ToolResult> {
    let result = unsupported(name)
    for await (const event of this.#events(name, args, options, !!(onLog ?? onProgress))) {
      if (event.type === 'log') onLog?.(event.text)
      if (event.type === 'progress') onProgress?.(event.fraction, event.text)
      if (event.type === 'result') ({ result } = event)
    }
    return result
  }

  /**
   * Runs one call like `invoke`, and gives its events as they come. The last one is always the result. A call that is refused,
   * or whose service cannot stream, has no other event. Leaving the iterator breaks off the request, which ends the call.
   */
  stream(name: string, args: object = {}, options: CallOptions = {}): AsyncGenerator<CallEvent, void> {
    return this.#events(name, args, options, true)
  }

  async *#events(
    name: string,
    args: object,
    { signal, idempotencyKey, dryRun, ...more }: CallOptions,
    hasEvents: boolean,
  ): AsyncGenerator<CallEvent, void> {
    signal?.throwIfAborted()
    checkKey(idempotencyKey)
    const runner = await this.#runners.find(name)
    if (this.#service && !runner) {
      const body = { name, arguments: args, ...more }
      const sent = { signal, idempotencyKey }
      if (dryRun === true) {
        const result = await dryRunAtService(this.#service, body, this.#deadlineMs, signal)
        yield { type: 'result', result }
        return
      }
      for await (const event of invokeAtService(this.#service, body, this.#deadlineMs, sent, hasEvents)) {
        const asked = event.type === 'result' ? approvalIn(event.result) : undefined
        const isApproved = asked && (await this.#isDecided(body, asked, signal))
        if (!isApproved) yield event
        else {
          const approved = { ...body, approval: asked.id }
          yield* invokeAtService(this.#service, approved, this.#deadlineMs, sent, hasEvents)
        }
      }
      return
    }
    if (runner && dryRun === true) {
      yield { type: 'result', result: toolResult(RUNS_HERE) }
      return
    }
    if (runner) yield { type: 'start' }
    const value = args as JsonValue
    const call = { index: 0, item: {}, id: undefined, name, arguments: { value }, nullMeansOmitted: false }
    yield { type: 'result', result: await this.#runHere(call, runner, signal) }
  }

  /** The result of a dispatched call after its approval was decided. Undefined if nobody waits for it. */
  async #whenApproved(
    { name, arguments: args }: LeftCall,
    asked: AskedApproval,
    signal?: AbortSignal,
  ): Promise<ToolResult | undefined> {
    const body = { name, arguments: args }
    if (!this.#service || !(await this.#isDecided(body, asked, signal))) return undefined
    const approved = { ...body, approval: asked.id }
    for await (const event of invokeAtService(this.#service, approved, this.#deadlineMs, { signal }, false))
      if (event.type === 'result') return event.result
    return undefined
  }

  async #isDecided(
    { name, arguments: args }: CallBody,
    asked: AskedApproval,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (!this.#service || !this.#onApproval) return false
    const { id, expiresAt } = asked
    const call = { id, expiresAt, name, arguments: args as JsonObject }
    return waitForApproval(this.#service, call, this.#onApproval, signal)
  }

  async #runHere(call: ReadCall, runner?: Runner, signal?: AbortSignal): Promise<ToolResult> {
    if (call.fault !== undefined) return toolFailure('CALLS_INVALID', `The call ${call.fault}.`)
    return runner ? runLocally(runner, call, this.#deadlineMs, signal) : unsupported(call.name)
  }
}

/** Throws CALLS_INVALID. */
function callsIn(answer: object) {
  const found = findCalls(answer as JsonValue, CALL_FORMATS)
  if ('fault' in found) throw new ToolsError('CALLS_INVALID', `The model's answer ${found.fault}.`)
  const { format, items } = found
  return { format, calls: format ? items.map((item) => readCall(format, item, items)) : [] }
}

function messagesOf<Message extends object>(
  format: CallFormat<CallFormatName>,
  answered: readonly AnsweredCall[],
): Answered<Message> {
  return {
    format: format.name,
    messages: [...format.messages(answered)] as readonly object[] as Message[],
  }
}

/** A call, and its fault if it cannot be run. The text of the fault is written after "the call". */
type ReadCall = ToolCall & { readonly fault?: string }

/** Reads a call. The call has a fault if it cannot be read or if another call has the same id. A call may have no id. */
function readCall(format: CallFormat, { item, index }: FoundCall, items: readonly FoundCall[]): ReadCall {
  const sentId = format.id(item)
  const id = isCallId(sentId) ? sentId : undefined
  const read = format.read(item)
  const { nullMeansOmitted } = format
  const call = { index, item, id, name: '', arguments: { text: '' }, nullMeansOmitted }
  if (typeof read === 'string') return { ...call, fault: read }
  const isTwice = id !== undefined && items.filter((other) => format.id(other.item) === id).length > 1
  return { ...call, ...read, ...(isTwice && { fault: 'has the id of another call; neither was run' }) }
}

/** Undefined if the tool is not a workflow and no approval is asked. */
function pendingCall(
  { index, id, item }: ReadCall,
  { name, layer, workflowName, approval, arguments: args }: LeftCall,
): PendingCall | undefined {
  const call = { index, id: id ?? null, name, layer, arguments: args, call: item }
  if (approval) return { ...call, kind: 'approval', approval }
  return workflowName === undefined ? undefined : { ...call, kind: 'workflow', workflowName }
}

function unsupported(name: string): ToolResult {
  const what = isToolName(name) ? name : 'no tool can have that name'
  return toolFailure('TOOL_NOT_FOUND', `Unsupported tool: ${what}`)
}
