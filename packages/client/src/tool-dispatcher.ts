import { answerCalls, isToolName, toolFailure, toolResult } from '@toolrack/contract'
import type {
  AnsweredImage,
  ImageRules,
  JsonObject,
  JsonValue,
  ReportedResult,
  ToolResult,
} from '@toolrack/contract'
import type { ByName } from './by-name.ts'
import { dryRunAtService, RUNS_HERE, type DryRun } from './dry-run-at-service.ts'
import { optionInvalid, ToolsError } from './errors.ts'
import { imagesOf, loadImages } from './images-at-service.ts'
import { invokeAtService, type CallBody, type CallEvent, type CallOptions } from './invoke-at-service.ts'
import { callsIn, messagesOf, pendingCall } from './model-calls.ts'
import type { Answered, Dispatched, ReadCall } from './model-calls.ts'
import { checkKey, runAtService, type DispatchOptions, type LeftCall } from './run-at-service.ts'
import { runLocally } from './run-locally.ts'
import { runnersByName, type AnyRunner, type Runner } from './runner.ts'
import { Service, type ServiceOptions } from './service.ts'
import { approvalIn, waitForApproval, type AskedApproval, type OnApproval } from './wait-for-approval.ts'

export type ToolDispatcherOptions = Partial<ServiceOptions> & {
  /**
   * The tools that run in this program. For each call, a Runner with this name is searched first, and then one with this alias.
   * Only if there is none, the call is sent to the service.
   */
  readonly runners?: readonly AnyRunner[] | undefined
  /** The most milliseconds that a Runner, or one request to the service, may take. The default is 60,000. */
  readonly deadlineMs?: number | undefined
  /**
   * Called when a call waits for an approval. Without it, such a call is pending in `dispatch`, and its result is a failure in
   * `invoke`.
   */
  readonly onApproval?: OnApproval | undefined
  /**
   * False for a model that takes no images. Then its messages have sentences about the images of results, and no image is loaded.
   */
  readonly images?: boolean | undefined
}

/** The result of one call, for `complete`. `images` are those of the result, as `dispatch` has returned them. */
export type Reported = {
  readonly index: number
  readonly result: ReportedResult
  readonly images?: readonly AnsweredImage[] | undefined
}

export type InvokeOptions = CallOptions & {
  /** Called with the text that the tool prints while it runs. If the callback throws, the call ends. */
  readonly onLog?: ((text: string) => void) | undefined
  /** Called with the progress that the tool reports: a number between 0 and 1, and a text. */
  readonly onProgress?: ((fraction: number, text: string) => void) | undefined
}

/** Runs a model's calls. A call runs in this program if it has a Runner, otherwise at the service. */
export class ToolDispatcher {
  readonly #runners: ByName<Runner>
  readonly #service: Service | undefined
  readonly #deadlineMs: number
  readonly #onApproval: OnApproval | undefined
  readonly #hasImages: boolean

  /**
   * Throws OPTION_INVALID for an option that is not allowed, for example if a Runner's definition has another name, or if two
   * Runners have the same name.
   */
  constructor({
    runners = [],
    deadlineMs = 60_000,
    onApproval,
    images = true,
    service,
    token,
    ...rest
  }: ToolDispatcherOptions) {
    this.#runners = runnersByName(runners)
    this.#deadlineMs = deadlineMs
    this.#onApproval = onApproval
    this.#hasImages = images
    if (service === undefined) return
    if (token === undefined) throw optionInvalid('token is needed with service')
    this.#service = new Service({ ...rest, service, token })
  }

  /**
   * Runs the calls of a model's answer. The answer is a list of items of any vendor, or the message that contains the list. Every
   * call is answered or pending. A call of an unknown tool is answered with `Unsupported tool: NAME`. `Message` is the vendor's
   * type of the messages to append.
   *
   * Never rejects because of a tool, or because the service is not available. Rejects with:
   *
   * - CALLS_INVALID, before anything is run, if there is no list of calls, or if an item looks like a call but has no known
   *   format,
   * - CRYPTO_MISSING, before anything is run,
   * - TOKEN_FAILED or SERVICE_REFUSED, as in `list`, after the other calls have ended; `results` of the error has their results,
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
      // If the service answers that the client must run the tool, the call runs here if there is a Runner.
      const runner = runners[at] ?? this.#runners.get(left?.name ?? '')
      const pending = left && !runner ? pendingCall(call, left) : undefined
      const approved = left?.approval && !runner && (await this.#whenApproved(left, left.approval, signal))
      if (approved) return { call, result: approved }
      if (pending) return { pending }
      return { call, result: result ?? (await this.#runHere(call, runner, signal)) }
    })
    // If one call rejects, the error is thrown only after the other calls have ended. So no Runner goes on in the background.
    const settled = await Promise.allSettled(answering)
    const outcomes = settled.flatMap((one) => ('value' in one ? one.value : []))
    const ended = outcomes.flatMap((outcome) => (outcome.pending ? [] : outcome))
    const images = await this.#images(
      ended.map(({ result }) => result),
      format.images,
      signal,
    )
    const answered = ended.map((one) => ({ ...one, images: imagesOf(one.result, images) }))
    const results = answered.map(({ call: { index, id = null, name }, result, images: own }) => ({
      index,
      id,
      name,
      result,
      ...(own && { images: own }),
    }))
    const lost = settled.find((one) => 'reason' in one)
    // The reason of the signal is an object of the caller, so no results are added to it.
    if (lost) throw signal?.aborted ? lost.reason : Object.assign(lost.reason as ToolsError, { results })
    return {
      ...messagesOf<Message>(format, answered),
      results,
      pending: outcomes.flatMap((outcome) => outcome.pending ?? []),
    }
  }

  /**
   * Writes the messages for all calls of a model's answer. `results` has exactly one result for each call: the results of
   * `dispatch`, and the results of the pending calls. Runs nothing and needs no service, so it can also be called in a later run
   * of the program. Throws CALLS_INVALID.
   */
  complete<Message extends object = JsonObject>(
    answer: object,
    results: readonly Reported[],
  ): Answered<Message> {
    const { format, calls } = callsIn(answer)
    const answered = answerCalls(calls, results)
    if ('fault' in answered) throw new ToolsError('CALLS_INVALID', `The list of results ${answered.fault}.`)
    return format ? messagesOf<Message>(format, answered) : { format: null, messages: [] }
  }

  /**
   * Runs one call, by the name or alias of its tool: in this program if the tool has a Runner, otherwise at the service. If the
   * call fails or is lost, the result is a failure, which says whether the tool may have run. Rejects with the same errors as
   * `dispatch`, and if a callback throws.
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
   * Runs one call like `invoke`, and yields its events when they arrive. The last event is always the result. It is the only
   * event if the call is refused, or if the service cannot stream. If the caller leaves the iterator, the request is aborted,
   * which ends the call.
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

  async #images(results: readonly ToolResult[], rules: ImageRules | undefined, signal?: AbortSignal) {
    if (!this.#service || !this.#hasImages) return []
    return loadImages(this.#service, results, rules, this.#deadlineMs, signal)
  }

  /**
   * Waits for the approval of a call, and makes the call when it is decided. Undefined if there is no `onApproval`, or if it has
   * returned false.
   */
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

function unsupported(name: string): ToolResult {
  const what = isToolName(name) ? name : 'no tool can have that name'
  return toolFailure('TOOL_NOT_FOUND', `Unsupported tool: ${what}`)
}
