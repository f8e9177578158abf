import { findCalls, isCallId, isJsonObject, isToolName, toolFailure } from '@toolrack/contract'
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
export type Dispatched = {
  /** Null where there was no call. */
  readonly format: WireFormat['name'] | null
  /** What to append to the conversation behind the model's own message, in its vendor's shape and in the order of the calls. */
  readonly messages: readonly JsonObject[]
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
   * `signal`; never because of what a tool or the service did.
   */
  async dispatch(
    answer: object,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Dispatched> {
    signal?.throwIfAborted()
    const { format, items } = callsIn(answer)
    if (!format) return { format: null, messages: [], results: [] }
    const calls = items.map((found) => readCall(format, found, items))
    const left = calls.filter(({ call, fault }) => fault === undefined && !this.#runners.has(call.name))
    const elsewhere = this.#runElsewhere(
      left.map(({ call }) => call),
      signal,
    )
    const run = async ({ call, fault }: FoundCall): Promise<ToolResult> => {
      if (fault !== undefined) return toolFailure('BODY_INVALID', `The call ${fault}.`)
      const runner = this.#runners.get(call.name)
      if (runner) return runLocally(runner, call, this.#deadlineMs, signal)
      return (await elsewhere).get(call) ?? unsupported(call.name)
    }
    const answered = await Promise.all(
      calls.map(async (found) => ({ call: found.call, result: await run(found) })),
    )
    return {
      format: format.name,
      messages: format.messages(answered),
      results: answered.map(({ call: { index, id = null, name }, result }) => ({ index, id, name, result })),
    }
  }

  /** At the service; what that hands back is run here if it can be. */
  async #runElsewhere(
    calls: readonly ToolCall[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ToolCall, ToolResult>> {
    if (!this.#service || calls.length === 0) return new Map()
    const answers = await runAtService(this.#service, calls, this.#deadlineMs, signal)
    const results = calls.map(async (call, index): Promise<[ToolCall, ToolResult]> => {
      const { result, runsHere = '' } = answers[index] ?? {}
      const runner = this.#runners.get(runsHere)
      if (runner) return [call, await runLocally(runner, call, this.#deadlineMs, signal)]
      return [call, result ?? unsupported(call.name)]
    })
    return new Map(await Promise.all(results))
  }
}

type FoundCall = { readonly call: ToolCall; readonly fault?: string }
type Found = FoundCalls['items'][number]

/** A message without a list, such as one that only speaks, has no calls. */
function callsIn(answer: object): FoundCalls {
  const found = findCalls(answer as JsonValue)
  if (!('fault' in found)) return found
  const isSpeech =
    isJsonObject(answer) && typeof answer['role'] === 'string' && !Array.isArray(answer['tool_calls'])
  if (isSpeech && !Array.isArray(answer['content']) && !Array.isArray(answer['parts']))
    return { format: undefined, items: [] }
  throw new ToolsError('CALLS_INVALID', `The model's answer ${found.fault}.`)
}

/** A call that can not be read fails alone, and so do two of one id; one without an id is run, and answered without one. */
function readCall(format: WireFormat, { item, index }: Found, items: readonly Found[]): FoundCall {
  const sentId = format.id(item)
  const id = isCallId(sentId) ? sentId : undefined
  const read = format.read(item)
  const isTwice =
    id !== undefined && items.some((other) => other.index !== index && format.id(other.item) === id)
  const fault = isTwice ? 'has the id of another one, so neither was run' : read
  if (typeof fault !== 'string') return { call: { ...fault, id, index, item } }
  const name = typeof read === 'string' ? '' : read.name
  return { call: { id, index, item, name, arguments: { value: {} } }, fault }
}

function unsupported(name: string): ToolResult {
  return toolFailure(
    'TOOL_NOT_FOUND',
    `Unsupported tool: ${isToolName(name) ? name : 'no tool can have that name'}`,
  )
}
