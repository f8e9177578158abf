import { parsedJson } from '@toolrack/contract'
import { optionInvalid, ServiceError, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { currentToken, type Token } from './token.ts'

export type ServiceOptions = {
  /** The address of the service, such as `http://127.0.0.1:8787`. It can have a path, if a proxy needs one. */
  readonly service: string | URL
  /** The token, which is sent as `Authorization: Bearer …`. */
  readonly token: Token | undefined
  /** `workflows` for the routes that users call, `jobs` for those that jobs call. The default is `workflows`. */
  readonly route?: 'workflows' | 'jobs' | undefined
  /** The user for whom a service account acts. Used only with the routes of jobs. */
  readonly userId?: string | undefined
  /** The id of the session for lists and calls. A single list can name another session. */
  readonly session?: string | undefined
  /** A function to use instead of the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** Sends requests to a service. It keeps no data between two requests. */
export class Service {
  readonly #base: URL
  readonly #options: ServiceOptions
  /** The query part of the address for calls, with its question mark. */
  readonly callQuery: string

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor(options: ServiceOptions) {
    const { service, route = 'workflows', session } = options
    this.callQuery = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
    this.#options = options
    const base = URL.canParse(String(service)) ? new URL(service) : undefined
    if (!base?.protocol.startsWith('http') || base.username !== '')
      throw optionInvalid('service must be an http or https address without a user name')
    base.pathname = `${base.pathname.replace(/\/+$/, '')}/${route}/tools/`
    base.search = base.hash = ''
    this.#base = base
  }

  /** The address of a path that is relative to that of the tools. */
  addressOf(path: string): string {
    return new URL(path, this.#base).href
  }

  /** The token for a request. Throws TOKEN_FAILED. */
  token(): Promise<string> {
    return currentToken(this.#options.token)
  }

  /**
   * Does the same as `token`, but rejects with TOKEN_FAILED at the deadline, and with the reason of the signal when it is
   * aborted.
   */
  tokenInTime(deadlineMs: number, signal: AbortSignal | undefined): Promise<string> {
    const late = (): ToolsError =>
      new ToolsError('TOKEN_FAILED', `The token function gave no token within ${deadlineMs} ms.`)
    return inTime(deadlineMs, late, () => this.token(), signal)
  }

  /**
   * Sends a request once. If the answer is a 401 and the option `token` is a function, the request is sent once more with a new
   * token. `request` makes the method, the body and further headers for a token. Resolves to what `accept` returns. By default,
   * `accept` returns an answer with a status below 400. Throws ServiceError, SERVICE_REFUSED, TOKEN_FAILED, or the reason of the
   * signal.
   */
  async ask(
    path: string,
    token: string,
    signal: AbortSignal,
    request: (
      token: string,
    ) => Pick<RequestInit, 'method' | 'body'> & { readonly headers?: Record<string, string> },
    accept: (response: Response) => Promise<Response> = accepted,
    isAgain = false,
  ): Promise<{ readonly response: Response; readonly token: string }> {
    const { userId, fetch = globalThis.fetch, token: source } = this.#options
    const { headers, ...more } = request(token)
    const own = { Authorization: `Bearer ${token}`, ...(userId !== undefined && { 'X-User-Id': userId }) }
    const init = { ...more, headers: { ...own, ...headers }, signal }
    const response = await withNetworkErrors(signal, () => fetch(new URL(path, this.#base), init))
    if (response.status !== 401 || isAgain || typeof source !== 'function')
      return { response: await accept(response), token }
    await response.body?.cancel()
    return this.ask(path, await currentToken(source, true), signal, request, accept, true)
  }
}

/** Runs `act`. If it fails, throws the reason of the signal if it is aborted, otherwise a ServiceError. */
export async function withNetworkErrors<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    signal.throwIfAborted()
    const wasSent = !hadNoConnection(cause)
    const orBroke = wasSent ? ', or its answer broke off' : ''
    throw new ServiceError('NETWORK', `The service cannot be reached${orBroke}.`, { wasSent, cause })
  }
}

/**
 * Matches the codes of errors that come before there is a connection, in Node and Bun. A browser does not say why a request
 * failed.
 */
const NO_CONNECTION = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/

type NetworkError = { code?: string; syscall?: string; errors?: readonly NetworkError[] }

/**
 * True if there certainly was no connection. In Node, the error of `fetch` has the error of the network as its cause. If the host
 * has several addresses, the cause contains one error for each of them, and may have the code of the first one.
 */
function hadNoConnection(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: NetworkError }
  const tried = cause?.errors?.length ? cause.errors : [cause]
  return tried.every((one) => one?.syscall === 'connect') || NO_CONNECTION.test(code ?? cause?.code ?? '')
}

/** Returns an answer with a status below 400, and throws for any other answer. */
export async function accepted(response: Response): Promise<Response> {
  const { status } = response
  if (status < 400) return response
  const text = await response.text().catch(() => '')
  if (status === 408 || status === 429 || status >= 500) {
    const code = status === 429 ? 'BUSY' : status === 408 ? 'TIMEOUT' : 'FAILED'
    throw new ServiceError(code, `The service answered ${status}.`, { retryAfterMs: retryAfter(response) })
  }
  const { message, reason } = errorIn(text)
  throw new ToolsError('SERVICE_REFUSED', `The service refused the request (${status}): ${message}`, {
    status,
    reason,
  })
}

/** The pause in milliseconds of the header `Retry-After`, which has seconds or a date. 0 without a valid header. */
export function retryAfter({ headers }: Response): number {
  const header = headers.get('Retry-After')
  if (header === null) return 0
  const ms = Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : Number(header) * 1000
  return ms > 0 ? ms : 0
}

/** Reads the error in an answer. The answer may be in another shape if a proxy in front of the service has sent it. */
function errorIn(text: string): { readonly message: string; readonly reason?: string } {
  const { error } = (parsedJson(text) ?? {}) as {
    error?: { message?: unknown; details?: { reason?: string }[] }
  }
  if (typeof error?.message !== 'string')
    return { message: 'the answer did not come from the service; is its address right?' }
  return { message: error.message, reason: String(error.details?.[0]?.reason) }
}
