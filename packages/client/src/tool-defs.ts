import type { Dialect, JsonObject, ToolDefinition } from '@toolrack/contract'
import type { ToolOf } from './dialect.ts'
import { inTime } from './in-time.ts'
import { listQuery } from './list-query.ts'
import type { ListOptions, ListQuery } from './list-query.ts'
import { localList } from './local-list.ts'
import { Outage } from './outage.ts'
import { readList } from './read-list.ts'
import type { ListAnswer } from './read-list.ts'
import { RememberedLists } from './remembered-lists.ts'
import { withRetry } from './retry.ts'
import { lostOnFailure, Service } from './service.ts'
import type { ServiceOptions } from './service.ts'
import { ServiceLoss, timedOut } from './service-loss.ts'
import { SharedRequests } from './shared-requests.ts'
import { STANDARD_DEFINITIONS } from './standard-definitions.ts'
import { tokenSubject } from './token.ts'
import type { ToolList } from './tool-list.ts'
import { ToolsError } from './tools-error.ts'

export type ToolDefsOptions = ServiceOptions & {
  /** What to list when the service can not be had and nothing is remembered: the standard definitions by default, `false` for an error. */
  readonly fallback?: readonly ToolDefinition[] | false | undefined
  /** How long a list may wait for the service, in milliseconds, tries and pauses together; 5,000 by default. */
  readonly deadlineMs?: number | undefined
}

/**
 * The tools for a model: from the service; while that is away its last good answer; else local definitions. Make one and keep it, for it
 * remembers.
 */
export class ToolDefs {
  readonly #service: Service
  readonly #fallback: readonly ToolDefinition[] | false
  readonly #deadlineMs: number
  readonly #remembered = new RememberedLists()
  readonly #requests = new SharedRequests<ListAnswer>()
  readonly #outage = new Outage()
  /** The last one; there is one wherever it is asked for. */
  #loss = new ServiceLoss('NETWORK', '')

  /** Throws OPTION_INVALID. */
  constructor({ fallback = STANDARD_DEFINITIONS, deadlineMs = 5_000, ...service }: ToolDefsOptions) {
    this.#service = new Service(service)
    this.#fallback = fallback
    this.#deadlineMs = deadlineMs
  }

  /**
   * Lists the tools for one model call. Rejects with a ToolsError where the caller is at fault: OPTION_INVALID, TOKEN_FAILED,
   * SERVICE_REFUSED (400, 401, 403); with SERVICE_UNAVAILABLE only where `fallback` is `false`; and with the reason of `signal`.
   */
  async list<D extends Dialect | undefined = undefined>(
    options: ListOptions<D> = {},
  ): Promise<ToolList<ToolOf<D>>> {
    const query = listQuery(options)
    options.signal?.throwIfAborted()
    const late = (): ToolsError =>
      new ToolsError('TOKEN_FAILED', `The token function gave no token within ${this.#deadlineMs} ms.`)
    const token = await inTime(this.#deadlineMs, late, () => this.#service.token(), options.signal)
    const list = await this.#list(query, token, options.signal)
    return list as ToolList<ToolOf<D>>
  }

  async #list(query: ListQuery, token: string, caller?: AbortSignal): Promise<ToolList<JsonObject>> {
    // Not by the subject: who says to be somebody gets no answer that somebody else's token was shown for.
    const request = `${query.search} ${token}`
    const answer = (waiting?: AbortSignal): Promise<ListAnswer> =>
      this.#requests.share(request, (signal) => this.#ask(query, token, signal), waiting)
    if (!this.#outage.isOn)
      try {
        return { ...listOf(await answer(caller)), source: 'service', reason: null }
      } catch (error) {
        if (!(error instanceof ServiceLoss)) throw error
      }
    else if (this.#outage.isTimeToAsk()) answer().catch(() => undefined)
    return this.#withoutService(keyOf(query, token), query)
  }

  /** Asks until the deadline, and keeps what it has learned of the service. */
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
      if (error instanceof ServiceLoss) this.#loss = error
      // A refusal is an answer, and so is a list that lost a layer.
      if (error instanceof ServiceLoss && error.code !== 'LAYERS_LOST') this.#outage.begin(error.retryAfterMs)
      else if (error instanceof ServiceLoss || error instanceof ToolsError) this.#outage.end()
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
    const text = await lostOnFailure(signal, () => response.text())
    const answer = readList(response.headers, text, query.dialect)
    this.#remembered.keep(key, answer)
    return answer
  }

  #withoutService(key: string, query: ListQuery): ToolList<JsonObject> {
    const { code, message } = this.#loss
    const reason = { code, message }
    const remembered = this.#remembered.get(key)
    if (remembered) return { ...listOf(remembered), source: 'remembered', reason }
    if (this.#fallback)
      return { ...localList(this.#fallback, query), source: 'local', reason, revision: null, layers: null }
    throw new ToolsError('SERVICE_UNAVAILABLE', `${message} There is nothing to fall back to.`, {
      cause: this.#loss,
    })
  }
}

/** What a question is asked and remembered under: never the same for two who may see other tools. */
function keyOf({ search }: ListQuery, token: string): string {
  return `${search} ${tokenSubject(token)}`
}

/** Many are given the same answer, and some add tools of their own to it. */
function listOf({ list, tools }: ListAnswer): Omit<ToolList<JsonObject>, 'source' | 'reason'> {
  return { ...list, tools: [...tools] }
}
