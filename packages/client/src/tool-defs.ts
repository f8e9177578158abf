import type { Dialect, JsonObject, ToolDefinition, ToolOf } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { RememberedLists, SharedRequests } from './list-cache.ts'
import { listQuery, type ListOptions, type ListQuery } from './list-query.ts'
import { localList, STANDARD_DEFINITIONS } from './local-list.ts'
import { Selections } from './selections.ts'
import { Outage, pause, withRetry } from './retry.ts'
import { withNetworkErrors, Service, type ServiceOptions } from './service.ts'
import { tokenSubject } from './token.ts'
import { readList, type FallbackReason, type ListAnswer, type ToolList } from './tool-list.ts'
import { feedOf, isOlder, type NamesChanged } from './watch-changes.ts'

export type ToolDefsOptions = ServiceOptions & {
  /**
   * The tools that are listed if the service is not available and no answer is remembered. The default is STANDARD_DEFINITIONS.
   * With `false`, `list` rejects in this case.
   */
  readonly fallback?: readonly ToolDefinition[] | false | undefined
  /** How many milliseconds a list waits for the service at most, with all attempts and pauses. The default is 5,000. */
  readonly deadlineMs?: number | undefined
}

/** A change of a watched list. */
export type ToolsChanged<Tool extends JsonObject = JsonObject> = NamesChanged & {
  /**
   * True at the beginning, and if the service cannot tell what has changed. Then the lists of names are empty, and only `list`
   * shows the present tools.
   */
  readonly isReset: boolean
  /** The list after the change. */
  readonly list: ToolList<Tool>
}

export type WatchOptions<D extends Dialect | undefined = undefined> = ListOptions<D> & {
  /** Called first with the present list, and then after each change. If it returns a promise, the next change waits for it. */
  readonly onChange: (change: ToolsChanged<ToolOf<D>>) => unknown
  /** Called once when the service is lost, and with null when it is available again. */
  readonly onOutage?: ((reason: FallbackReason | null) => unknown) | undefined
  /** When the signal is aborted, the watch ends. */
  readonly signal: AbortSignal
}

/**
 * Lists the tools for a model. They come from the service. If it is not available, they come from its last usable answer, or else
 * from local definitions. Make only one ToolDefs and use it for all lists, because it remembers the answers.
 */
export class ToolDefs {
  readonly #service: Service
  readonly #fallback: readonly ToolDefinition[] | false
  readonly #deadlineMs: number
  readonly #session: string | undefined
  readonly #remembered = new RememberedLists()
  readonly #selections = new Selections()
  readonly #requests = new SharedRequests<ListAnswer>()
  readonly #outage = new Outage()
  /** The last error of the service. The first value is never used. */
  #lastError = new ServiceError('NETWORK', '')

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ fallback = STANDARD_DEFINITIONS, deadlineMs = 5_000, ...service }: ToolDefsOptions) {
    this.#service = new Service(service)
    this.#fallback = fallback
    this.#deadlineMs = deadlineMs
    this.#session = service.session
  }

  /**
   * Lists the tools for one model call. Rejects with the reason of `signal`, or with one of these codes:
   *
   * - OPTION_INVALID, TOKEN_FAILED or SERVICE_REFUSED (4xx): the caller made a mistake.
   * - CRYPTO_MISSING: local definitions need a hash, but there is no WebCrypto.
   * - SERVICE_UNAVAILABLE: the service is not available, no answer is remembered, and local definitions cannot be used. They
   *   cannot be used if `fallback` is `false`, if a scope is a stored scope, or if the selection of the session is not known.
   */
  async list<D extends Dialect | undefined = undefined>(
    options: ListOptions<D> = {},
  ): Promise<ToolList<ToolOf<D>>> {
    const query = listQuery({ session: this.#session, ...options })
    options.signal?.throwIfAborted()
    const token = await this.#service.tokenInTime(this.#deadlineMs, options.signal)
    return (await this.#list(query, token, options.signal)) as ToolList<ToolOf<D>>
  }

  /**
   * Reports every change of a list until `signal` is aborted, and then resolves. After a lost connection, it connects again,
   * however often, and reports what has changed in between. Rejects with the same errors as `list`, also if the session ends.
   * Also rejects with an error that `onChange` throws.
   */
  async watch<D extends Dialect | undefined = undefined>(options: WatchOptions<D>): Promise<void> {
    const { onChange, onOutage, ...listed } = options
    const { signal } = listed
    // A JavaScript program can leave these options out. Without a signal the watch would never end.
    if (typeof onChange !== 'function') throw optionInvalid('onChange must be a function')
    if (!(signal instanceof AbortSignal))
      throw optionInvalid('signal must be an AbortSignal, which ends the watch')
    const query = listQuery({ session: this.#session, ...listed })
    try {
      for await (const news of feedOf(this.#service, query, signal)) {
        const { type } = news
        if (type === 'lost') await onOutage?.({ code: news.error.code, message: news.error.message })
        else if (type === 'back') await onOutage?.(null)
        else {
          // The feed has answered, so the service is available. The next list must not be one that was remembered during the
          // outage.
          this.#outage.end()
          let list = await this.list<D>(listed)
          if (type === 'changes' && isOlder(list.revision ?? '', news.revision)) {
            await pause(SEEN_MS, signal)
            list = await this.list<D>(listed)
          }
          const names: Partial<NamesChanged> = type === 'changes' ? news : {}
          const { added = [], changed = [], removed = [] } = names
          await onChange({ added, changed, removed, isReset: type !== 'changes', list })
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #list(query: ListQuery, token: string, caller?: AbortSignal): Promise<ToolList<JsonObject>> {
    // The key contains the whole token. The service must verify each token before the holder of the token shares an answer.
    const request = `${query.search} ${token}`
    const answer = (waiting?: AbortSignal): Promise<ListAnswer> =>
      this.#requests.share(request, (signal) => this.#ask(query, token, signal), waiting)
    if (!this.#outage.isOn)
      try {
        return { ...listOf(await answer(caller)), source: 'service', reason: null }
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
      }
    else if (this.#outage.isTimeToAsk()) answer().catch(() => undefined)
    return this.#withoutService(query, token)
  }

  /** Asks the service until the deadline. If it answers, the outage ends. If not, an outage begins. */
  async #ask(query: ListQuery, token: string, caller: AbortSignal): Promise<ListAnswer> {
    const endsMs = Date.now() + this.#deadlineMs
    try {
      const answer = await inTime(
        this.#deadlineMs,
        () => timedOut(this.#deadlineMs),
        (signal) => withRetry(endsMs, signal, () => this.#askOnce(query, token, signal)),
        caller,
      )
      this.#outage.end()
      return answer
    } catch (error) {
      if (error instanceof ServiceError) this.#lastError = error
      // If the error is a ToolsError (a refusal) or LAYERS_LOST, the service has answered. So these two errors end the outage.
      if (error instanceof ServiceError && error.code !== 'LAYERS_LOST')
        this.#outage.begin(error.retryAfterMs)
      else if (error instanceof ServiceError || error instanceof ToolsError) this.#outage.end()
      throw error
    }
  }

  async #askOnce(query: ListQuery, shown: string, signal: AbortSignal): Promise<ListAnswer> {
    const { response, token } = await this.#service.ask(`list${query.search}`, shown, signal, (used) => {
      const etag = this.#remembered.get(keyOf(query, used))?.etag
      return etag ? { headers: { 'If-None-Match': etag } } : {}
    })
    const key = keyOf(query, token)
    const remembered = this.#remembered.get(key)
    if (response.status === 304 && remembered?.etag) return remembered
    const text = await withNetworkErrors(signal, () => response.text())
    const answer = readList(response.headers, text, query.dialect)
    this.#remembered.keep(key, answer)
    this.#selections.keep(query, token, answer)
    return answer
  }

  async #withoutService(query: ListQuery, token: string): Promise<ToolList<JsonObject>> {
    const { code, message } = this.#lastError
    const reason = { code, message }
    const remembered = this.#remembered.get(keyOf(query, token))
    if (remembered) return { ...listOf(remembered), source: 'remembered', reason }
    // Only the service knows which tools a stored scope (`ref:`) contains. Without this scope, a local list could have more tools
    // than the caller wants.
    const isStored = query.scopes.some((scope) => scope.trim().startsWith('ref:'))
    if (!this.#fallback || isStored) {
      const cause = this.#lastError
      throw new ToolsError('SERVICE_UNAVAILABLE', `${message} There is nothing to fall back to.`, { cause })
    }
    const selected = this.#selections.of(query, token)
    if (selected === 'unknown')
      throw new ToolsError('SERVICE_UNAVAILABLE', `${message} ${NO_SELECTION}`, { cause: this.#lastError })
    const local = await localList(this.#fallback, query, selected)
    return { ...local, unavailable: [], source: 'local', reason, revision: null, layers: null }
  }
}

/** After so many milliseconds, every instance of the service knows about a change. */
const SEEN_MS = 1_000

const NO_SELECTION = 'The selection of the session is not known, so no local tool is listed.'

/** The key under which an answer is remembered. It is different for callers who may see different tools. */
function keyOf({ search }: ListQuery, token: string): string {
  return `${search} ${tokenSubject(token)}`
}

/**
 * Makes a list from a remembered answer. The array of tools is copied, because several callers share the answer, and some of them
 * add tools.
 */
function listOf({ list }: ListAnswer): ListAnswer['list'] {
  return { ...list, tools: [...list.tools] }
}
