import { isJsonObject, modelProfile, parsedJson, SYSTEM_LAYER, WRAP_LAYERS } from '@toolrack/contract'
import type { Dialect, JsonObject, ToolOf, WrapBill, WrapLayer } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { estimateTokens, localWrap, type CountTokens } from './local-wrap.ts'
import { Outage } from './retry.ts'
import { Service, withNetworkErrors } from './service.ts'
import { ToolDefs, type ToolDefsOptions } from './tool-defs.ts'
import type { FallbackReason, ListTokens, ToolList } from './tool-list.ts'

export type ToolWrapsOptions = ToolDefsOptions & {
  /**
   * Counts the tokens of a prompt while the service is not available. It can be an encoder. Without it, the tokens are estimated.
   */
  readonly countTokens?: CountTokens | undefined
  /** The ToolDefs whose remembered lists are used while the service is not available. By default a new one is made. */
  readonly defs?: ToolDefs | undefined
}

export type BuildOptions<D extends Dialect | undefined = Dialect | undefined> = {
  readonly dialect?: D
  /** The name of the model. If the dialect or the most tools are not given, they are those of this model. */
  readonly model?: string | undefined
  /** The most tokens that tools may take. The default is a quarter of all tokens. */
  readonly toolsTokens?: number | undefined
  readonly maxTools?: number | undefined
  /** If true, the text of the prompt also has a line for each tool. */
  readonly guide?: boolean | undefined
  /** With `search`, the prompt also has the tools by which a model finds more tools, or the vendor's own search. */
  readonly with?: 'search' | undefined
  /** The names of tools that the model has loaded. They have the highest priority in the budget. */
  readonly loaded?: readonly string[] | undefined
  /** The id of a session. It replaces the session of the ToolWraps. */
  readonly session?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** The tokens of a prompt. `total` is the sum of the prompt's layers. */
export type PromptBill = WrapBill & {
  /** How many tools are listed in full, with a short description, by name only, or not at all. */
  readonly tools: Omit<ListTokens, 'used' | 'budget'>
  /** True if the tokens are estimated. */
  readonly estimated: boolean
}

export type Prompt<Tool = JsonObject> = {
  readonly text: string
  /** The text of the system layer, for vendors that accept it separately from the messages. */
  readonly system: string
  /** The text of all other layers. */
  readonly context: string
  readonly tools: Tool[]
  readonly bill: PromptBill
  /**
   * Where the prompt comes from. `service`: the service has composed it. Otherwise the client has composed it, and the value says
   * where its tools come from: just listed, remembered, or built in.
   */
  readonly source: 'service' | 'listed' | 'remembered' | 'local'
  /** Why the service has not composed the prompt. Null if it has. */
  readonly reason: FallbackReason | null
}

type Scope = string | readonly string[]
type Parts = {
  readonly targetTokens: number
  readonly layers: readonly WrapLayer[]
  /** The scope that selects the tools. Undefined for a prompt without tools. */
  readonly scope: Scope | undefined
}

/**
 * Composes prompts of at most a given number of tokens: `await wrap(4000).system(…).tools('@web').layer('history', …,
 * 90).build()`. While the service is not available, the client composes them itself. Make only one ToolWraps and use it for all
 * prompts.
 */
export class ToolWraps {
  readonly #service: Service
  readonly #defs: ToolDefs
  readonly #session: string | undefined
  readonly #deadlineMs: number
  readonly #countTokens: CountTokens | undefined
  readonly #outage = new Outage()
  /** The queries for whose lists the service was asked once, so that the answers are remembered. */
  readonly #primed = new Set<string>()
  #lastError = new ServiceError('NETWORK', '')

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ countTokens, defs, ...options }: ToolWrapsOptions) {
    this.#service = new Service(options)
    this.#defs = defs ?? new ToolDefs(options)
    this.#session = options.session
    this.#deadlineMs = options.deadlineMs ?? 5_000
    this.#countTokens = countTokens
  }

  /** Begins a prompt of at most `targetTokens` tokens. Throws OPTION_INVALID. */
  readonly wrap = (targetTokens: number): WrapBuilder => {
    if (!isCount(targetTokens)) throw optionInvalid('targetTokens must be a whole number of tokens from 0')
    const build: Build = (parts, options) => this.#build(parts, { session: this.#session, ...options })
    return new WrapBuilder({ targetTokens, layers: [], scope: undefined }, build)
  }

  async #build(parts: Parts, options: BuildOptions): Promise<Prompt> {
    options.signal?.throwIfAborted()
    const token = await this.#service.tokenInTime(this.#deadlineMs, options.signal)
    if (!this.#outage.isOn)
      try {
        return await this.#ask(parts, options, token)
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
      }
    else if (this.#outage.isTimeToAsk()) this.#ask(parts, options, token).catch(() => undefined)
    return this.#withoutService(parts, options)
  }

  /** Asks the service once. If it answers, the outage ends. If not, an outage begins. */
  async #ask(parts: Parts, options: BuildOptions, token: string): Promise<Prompt> {
    try {
      const prompt = await this.#askOnce(parts, options, token)
      this.#outage.end()
      this.#prime(parts, options)
      return prompt
    } catch (error) {
      if (error instanceof ServiceError) {
        this.#lastError = error
        this.#outage.begin(error.retryAfterMs)
      } else if (error instanceof ToolsError) this.#outage.end()
      throw error
    }
  }

  async #askOnce(
    { targetTokens, layers, scope }: Parts,
    options: BuildOptions,
    token: string,
  ): Promise<Prompt> {
    const { signal, ...asked } = options
    const tools = scope === undefined ? NO_TOOLS : isAll(scope) ? {} : { scope }
    const init = {
      method: 'POST',
      body: JSON.stringify({ ...asked, targetTokens, layers, ...tools }),
      headers: { 'Content-Type': 'application/json' },
    }
    const late = (): ServiceError => timedOut(this.#deadlineMs)
    const text = await inTime(
      this.#deadlineMs,
      late,
      async (ending) => {
        const { response } = await this.#service.ask('wrap', token, ending, () => init)
        return withNetworkErrors(ending, () => response.text())
      },
      signal,
    )
    const answer = parsedJson(text)
    if (!isJsonObject(answer) || !isJsonObject(answer['bill']) || !Array.isArray(answer['tools']))
      throw new ServiceError('UNREADABLE', 'The answer is not a prompt.')
    const prompt = answer as unknown as Prompt
    return { ...prompt, bill: { ...prompt.bill, estimated: false }, source: 'service', reason: null }
  }

  /** Lists the tools of a prompt once. Then the list is remembered for a time when the service is not available. */
  #prime({ scope }: Parts, options: BuildOptions): void {
    const { dialect, session, with: extra, loaded } = options
    const key = JSON.stringify([scope, dialectOf(options), session, extra, loaded])
    if (scope === undefined || this.#primed.has(key) || this.#primed.size >= PRIMED_MAX) return
    this.#primed.add(key)
    this.#list(scope, { session, ...options, dialect, signal: undefined }).catch(() =>
      this.#primed.delete(key),
    )
  }

  async #withoutService(parts: Parts, options: BuildOptions): Promise<Prompt> {
    const { scope, ...asked } = parts
    checkLayers(parts.layers)
    const { code, message } = this.#lastError
    const listed = scope === undefined ? undefined : await this.#list(scope, options)
    const { toolsTokens, maxTools, model, guide } = options
    const toolsMax = maxTools ?? (model === undefined ? undefined : modelProfile(model)?.toolsMax)
    const count = this.#countTokens ?? estimateTokens
    const local = { ...asked, toolsTokens, toolsMax, guide }
    const { tools, bill, ...wrapped } = await localWrap(listed?.tools ?? [], local, count)
    const estimated = this.#countTokens === undefined
    const source = listed?.source === 'service' ? 'listed' : (listed?.source ?? 'local')
    const reason = { code, message }
    return { ...wrapped, tools: [...tools], bill: { ...bill, estimated }, source, reason }
  }

  async #list(scope: Scope, options: BuildOptions): Promise<Pick<ToolList<JsonObject>, 'tools' | 'source'>> {
    const { session, signal, with: extra, loaded } = options
    const asked = { session, signal, dialect: dialectOf(options), with: extra, loaded }
    return this.#defs.list(isAll(scope) ? asked : { ...asked, scope })
  }
}

/** The options for a prompt without tools. `maxTools` is needed too, because a tool that a stored scope pins is in every list. */
const NO_TOOLS = { scope: 'none', maxTools: 0 }

/** True for an empty list of scopes. An empty text is not a valid scope, and the service refuses it. */
function isAll(scope: Scope): boolean {
  return typeof scope !== 'string' && scope.length === 0
}

/** The most queries whose lists are requested to be remembered. ToolDefs remembers the same number of lists. */
const PRIMED_MAX = 100

type Build = (parts: Parts, options: BuildOptions) => Promise<Prompt>

/**
 * A prompt that is being composed. Each method returns a new builder and changes nothing, so several prompts can share their
 * beginning.
 */
class WrapBuilder {
  readonly #parts: Parts
  readonly #build: Build

  constructor(parts: Parts, build: Build) {
    this.#parts = parts
    this.#build = build
  }

  /** Sets the system text. It comes first and is shortened last. */
  system(text: string): WrapBuilder {
    return this.layer(SYSTEM_LAYER.name, text, SYSTEM_LAYER.priority)
  }

  /**
   * Adds the tools that are in all of these scopes. Without a scope, adds all tools. If `tools` is never called, the prompt has
   * none.
   */
  tools(scope: Scope = []): WrapBuilder {
    return new WrapBuilder({ ...this.#parts, scope }, this.#build)
  }

  /** Adds a text. Texts with a lower `priority` come first in the prompt and are shortened last. Tools have the priority 50. */
  layer(name: string, text: string, priority: number): WrapBuilder {
    const layers = [...this.#parts.layers, { name, text, priority }]
    return new WrapBuilder({ ...this.#parts, layers }, this.#build)
  }

  /**
   * Composes the prompt. Rejects with OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED, or with SERVICE_UNAVAILABLE if the service
   * is not available and the client has no tools of its own to use.
   */
  async build<D extends Dialect | undefined = undefined>(
    options: BuildOptions<D> = {},
  ): Promise<Prompt<ToolOf<D>>> {
    return (await this.#build(this.#parts, options)) as unknown as Prompt<ToolOf<D>>
  }
}

export type { WrapBuilder }

function dialectOf({ dialect, model }: BuildOptions): Dialect | undefined {
  return dialect ?? (model === undefined ? undefined : modelProfile(model)?.dialect)
}

/** Checks the layers by the same rules as the service. This is needed if the client composes the prompt. */
function checkLayers(layers: readonly WrapLayer[]): void {
  const names = new Set<string>(WRAP_LAYERS)
  for (const { name, priority } of layers) {
    if (names.has(name)) throw optionInvalid('name of each layer must be its own, and not tools or guide')
    names.add(name)
    if (!isCount(priority)) throw optionInvalid('priority of each layer must be a whole number from 0')
  }
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0
}
