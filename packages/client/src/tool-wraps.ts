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
  /** Counts the tokens of a prompt while the service is away, for example with an encoder. Without it, they are estimated. */
  readonly countTokens?: CountTokens | undefined
  /** The ToolDefs whose remembered lists are used while the service is away. The default is an own one. */
  readonly defs?: ToolDefs | undefined
}

export type BuildOptions<D extends Dialect | undefined = Dialect | undefined> = {
  readonly dialect?: D
  /** The name of the model. It decides the dialect and the number of tools, if they are not given. */
  readonly model?: string | undefined
  /** The most tokens that tools may take. The default is a quarter of the whole. */
  readonly toolsTokens?: number | undefined
  readonly maxTools?: number | undefined
  /** If true, the text has a line for each tool. */
  readonly guide?: boolean | undefined
  /** With `search`, the prompt also has the tools by which a model finds more tools, or the vendor's own search. */
  readonly with?: 'search' | undefined
  /** Names of tools that the model has loaded. They come first in the budget. */
  readonly loaded?: readonly string[] | undefined
  /** The id of a session, in place of that of the ToolWraps. */
  readonly session?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a prompt takes: `total` is the sum of the layers. */
export type PromptBill = WrapBill & {
  /** How many tools are whole, with a short description, by name only, or not there. */
  readonly tools: Omit<ListTokens, 'used' | 'budget'>
  /** True if the tokens are an estimate and not counted. */
  readonly estimated: boolean
}

export type Prompt<Tool = JsonObject> = {
  readonly text: string
  /** What the text has of the system text, for vendors that take it apart from the messages. */
  readonly system: string
  /** What the text has of all other layers. */
  readonly context: string
  readonly tools: Tool[]
  readonly bill: PromptBill
  /**
   * `service`: the service has composed it. Otherwise the client has composed it, with tools that are listed, remembered or built
   * in.
   */
  readonly source: 'service' | 'listed' | 'remembered' | 'local'
  /** Why the service has not composed it. */
  readonly reason: FallbackReason | null
}

type Scope = string | readonly string[]
type Parts = {
  readonly targetTokens: number
  readonly layers: readonly WrapLayer[]
  /** Undefined for a prompt without tools. */
  readonly scope: Scope | undefined
}

/**
 * Composes prompts within a number of tokens: `await wrap(4000).system(…).tools('@web').layer('history', …, 90).build()`. While the
 * service is away, the client composes them itself. Make one ToolWraps and use it for all prompts.
 */
export class ToolWraps {
  readonly #service: Service
  readonly #defs: ToolDefs
  readonly #session: string | undefined
  readonly #deadlineMs: number
  readonly #countTokens: CountTokens | undefined
  readonly #outage = new Outage()
  /** The queries whose lists have been asked for, so that they are remembered. */
  readonly #primed = new Set<string>()
  #lastError = new ServiceError('NETWORK', '')

  /** Throws OPTION_INVALID. */
  constructor({ countTokens, defs, ...options }: ToolWrapsOptions) {
    this.#service = new Service(options)
    this.#defs = defs ?? new ToolDefs(options)
    this.#session = options.session
    this.#deadlineMs = options.deadlineMs ?? 5_000
    this.#countTokens = countTokens
  }

  /** Begins a prompt of at most so many tokens. Throws OPTION_INVALID. */
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

  /** Asks the service once. Begins or ends the outage. */
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

  /** Lists the tools of a prompt once, so that the list is remembered when the service goes away. */
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

/** Tools that a stored scope pins are in every scope, so their number is bounded too. */
const NO_TOOLS = { scope: 'none', maxTools: 0 }

/** True for no scope at all. An empty text is no scope, and the service says so. */
function isAll(scope: Scope): boolean {
  return typeof scope !== 'string' && scope.length === 0
}

/** The most queries whose lists are asked for to be remembered. ToolDefs remembers as many. */
const PRIMED_MAX = 100

type Build = (parts: Parts, options: BuildOptions) => Promise<Prompt>

/** A prompt that is being made. Each method returns a new builder, so that prompts can share their beginning. */
class WrapBuilder {
  readonly #parts: Parts
  readonly #build: Build

  constructor(parts: Parts, build: Build) {
    this.#parts = parts
    this.#build = build
  }

  /** The system text, which stands first and is kept longest. */
  system(text: string): WrapBuilder {
    return this.layer(SYSTEM_LAYER.name, text, SYSTEM_LAYER.priority)
  }

  /** The tools that are in all of these scopes. Without a scope, all tools. Without this call, no tools. */
  tools(scope: Scope = []): WrapBuilder {
    return new WrapBuilder({ ...this.#parts, scope }, this.#build)
  }

  /** More text. Lower priorities stand first and are kept longest. Tools have 50. */
  layer(name: string, text: string, priority: number): WrapBuilder {
    const layers = [...this.#parts.layers, { name, text, priority }]
    return new WrapBuilder({ ...this.#parts, layers }, this.#build)
  }

  /**
   * The prompt. Rejects with OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED, or SERVICE_UNAVAILABLE if the service is away and there are no
   * tools to fall back to.
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

/** The rules of the service, for the time without it. */
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
