import { findCalls, isCallId, isToolName, toolFailure } from '@toolrack/contract'
import type { FoundCalls, JsonObject, JsonValue, ToolCall, ToolResult, WireFormat } from '@toolrack/contract'
import { runAtService } from './run-at-service.ts'
import { runLocally } from './run-locally.ts'
import { runnersByName } from './runner.ts'
import type { Runner } from './runner.ts'
import { optionInvalid, Service } from './service.ts'
import type { ServiceOptions } from './service.ts'
import { ToolsError } from './tools-error.ts'

export type ToolDispatcherOptions = Partial<ServiceOptions> & {
  /** The tools that run here. They are looked up by exact name, then by alias, before the service is asked. */
  readonly runners?: readonly Runner[] | undefined
  /** How long a Runner, or the service with the calls of one answer, may take, in milliseconds; 60,000 by default. */
  readonly deadlineMs?: number | undefined
}

/** What came of a model's calls. */
export type Dispatched<Message extends object = JsonObject> = {
  /** Null where there was no call. */
  readonly format: WireFormat['name'] | null
  /** What to append to the conversation behind the model's own message, in its vendor's shape and in the order of the calls. */
  readonly messages: Message[]
  /** One for each call, in order. */
  readonly results: readonly {
    /** The place of the call among all items of the answer. */
    readonly index: number
    readonly id: string | null
    readonly name: string
    readonly result: ToolResult
  }[]
}

/** Runs what a model calls: here where there is a Runner, else at the service. */
export class ToolDispatcher {
  readonly #runners: ReadonlyMap<string, Runner>
  readonly #service: Service | undefined
  readonly #deadlineMs: number

  /** Throws OPTION_INVALID: among others for a Runner whose name is not that of its definition, and for two of one name. */
  constructor({ runners = [], deadlineMs = 60_000, service, token, ...rest }: ToolDispatcherOptions) {
    this.#runners = runnersByName(runners)
    this.#deadlineMs = deadlineMs
    if (service === undefined) return
    if (token === undefined) throw optionInvalid('token is needed with service')
    this.#service = new Service({ ...rest, service, token })
  }

  /**
   * Runs the calls of a model's answer, of whichever vendor: a list of its items, or the message that holds them. Every call is answered,
   * an unknown one by `Unsupported tool: NAME`. Rejects with CALLS_INVALID where no list of calls can be found, and with the reason of
   * `signal`; never because of what a tool or the service did. `Message` is how your vendor's types call what is to be appended.
   */
  async dispatch<Message extends object = JsonObject>(
    answer: object,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Dispatched<Message>> {
    signal?.throwIfAborted()
    const found = findCalls(answer as JsonValue)
    if ('fault' in found) throw new ToolsError('CALLS_INVALID', `The model's answer ${found.fault}.`)
    const { format, items } = found
    if (!format) return { format: null, messages: [], results: [] }
    const calls = items.map((item) => readCall(format, item, items))
    const left = calls.filter(({ name, fault }) => fault === undefined && !this.#runners.has(name))
    const elsewhere = this.#runElsewhere(left, signal)
    const run = async (call: ReadCall): Promise<ToolResult> =>
      call.fault === undefined
        ? ((await this.#runHere(call.name, call, signal)) ??
          (await elsewhere).get(call) ??
          unsupported(call.name))
        : toolFailure('BODY_INVALID', `The call ${call.fault}.`)
    const answered = await Promise.all(calls.map(async (call) => ({ call, result: await run(call) })))
    return {
      format: format.name,
      messages: [...format.messages(answered)] as readonly object[] as Message[],
      results: answered.map(({ call: { index, id = null, name }, result }) => ({ index, id, name, result })),
    }
  }

  #runHere(name: string, call: ToolCall, signal: AbortSignal | undefined): Promise<ToolResult> | undefined {
    const runner = this.#runners.get(name)
    return runner && runLocally(runner, call, this.#deadlineMs, signal)
  }

  /** At the service; what that hands back is run here if it can be. */
  async #runElsewhere(
    calls: readonly ToolCall[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ToolCall, ToolResult>> {
    if (!this.#service || calls.length === 0) return new Map()
    const answers = await runAtService(this.#service, calls, this.#deadlineMs, signal)
    const results = answers.map(async ({ call, result, runsHere = '' }): Promise<[ToolCall, ToolResult]> => [
      call,
      result ?? (await this.#runHere(runsHere, call, signal)) ?? unsupported(call.name),
    ])
    return new Map(await Promise.all(results))
  }
}

/** A call, or what is wrong with it, to go behind "the call". */
type ReadCall = ToolCall & { readonly fault?: string }
type Found = FoundCalls['items'][number]

/** A call that can not be read fails alone, and so do two of one id; one without an id is run, and answered without one. */
function readCall(format: WireFormat, { item, index }: Found, items: readonly Found[]): ReadCall {
  const sentId = format.id(item)
  const id = isCallId(sentId) ? sentId : undefined
  const read = format.read(item)
  const call = { index, item, id, name: '', arguments: { text: '' } }
  if (typeof read === 'string') return { ...call, fault: read }
  const isTwice = id !== undefined && items.filter((other) => format.id(other.item) === id).length > 1
  return { ...call, ...read, ...(isTwice && { fault: 'has the id of another; neither was run' }) }
}

function unsupported(name: string): ToolResult {
  return toolFailure(
    'TOOL_NOT_FOUND',
    `Unsupported tool: ${isToolName(name) ? name : 'no tool can have that name'}`,
  )
}
