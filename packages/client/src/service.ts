import { isJsonObject } from '@toolrack/contract'
import { lossOf, ServiceLoss } from './service-loss.ts'
import { currentToken } from './token.ts'
import type { Token } from './token.ts'
import { ToolsError } from './tools-error.ts'

/** Where the service is, and who asks. */
export type ServiceOptions = {
  /** The address of the service: `http://127.0.0.1:8787`. A path in it is kept, for a proxy in front of the service. */
  readonly service: string | URL
  /** Shown as `Authorization: Bearer …`. */
  readonly token: Token
  /** The routes of users or those of jobs; `workflows` by default. */
  readonly route?: 'workflows' | 'jobs' | undefined
  /** The user that a service account acts for, on the routes of jobs. */
  readonly userId?: string | undefined
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch | undefined
}

/** A service as a client sees it: an address and a token. Keeps nothing of what it was asked. */
export class Service {
  readonly #base: URL
  readonly #options: ServiceOptions

  /** Throws OPTION_INVALID. */
  constructor(options: ServiceOptions) {
    const { service, route = 'workflows' } = options
    this.#options = options
    const base = URL.canParse(String(service)) ? new URL(service) : undefined
    if (!base?.protocol.startsWith('http') || base.username !== '')
      throw optionInvalid('service must be an http or https address without a user name')
    base.pathname = `${base.pathname.replace(/\/+$/, '')}/${route}/tools/`
    base.search = base.hash = ''
    this.#base = base
  }

  /** Throws TOKEN_FAILED. */
  token(): Promise<string> {
    return currentToken(this.#options.token)
  }

  /**
   * Asks once; after a 401 once more, where a function gives the token. `request` gets the token that is shown. Resolves to
   * an answer below 400; throws ServiceLoss, or SERVICE_REFUSED or TOKEN_FAILED, or the reason of the signal.
   */
  async ask(
    path: string,
    token: string,
    signal: AbortSignal,
    request: (
      token: string,
    ) => Pick<RequestInit, 'method' | 'body'> & { readonly headers?: Record<string, string> },
    isAgain = false,
  ): Promise<{ readonly response: Response; readonly token: string }> {
    const { userId, fetch = globalThis.fetch, token: source } = this.#options
    const { headers, ...more } = request(token)
    const own = { Authorization: `Bearer ${token}`, ...(userId !== undefined && { 'X-User-Id': userId }) }
    const init = { ...more, headers: { ...own, ...headers }, signal }
    const response = await lostOnFailure(signal, () => fetch(new URL(path, this.#base), init))
    if (response.status !== 401 || isAgain || typeof source !== 'function')
      return { response: await accepted(response), token }
    await response.body?.cancel()
    return this.ask(path, await currentToken(source, true), signal, request, true)
  }
}

/** What breaks on the way is a loss of the service; what the caller ended is not. */
export async function lostOnFailure<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    signal.throwIfAborted()
    throw new ServiceLoss('NETWORK', 'The service can not be reached, or its answer broke off.', { cause })
  }
}

export function optionInvalid(fault: string): ToolsError {
  return new ToolsError('OPTION_INVALID', `The option ${fault}.`)
}

/** An answer below 400. */
async function accepted(response: Response): Promise<Response> {
  const { status } = response
  if (status < 400) return response
  const text = await response.text().catch(() => '')
  const loss = lossOf(response)
  if (loss) throw loss
  const { message, reason } = googleError(text)
  throw new ToolsError('SERVICE_REFUSED', `The service refused the request (${status}): ${message}`, {
    status,
    reason,
  })
}

/** What the service says of an error; a proxy in front of it says it otherwise. */
function googleError(text: string): { readonly message: string; readonly reason?: string } {
  try {
    const { error } = JSON.parse(text) as { error: { message: string; details: { reason: string }[] } }
    if (isJsonObject(error)) return { message: error.message, reason: String(error.details[0]?.reason) }
  } catch {
    // It was not the service that answered.
  }
  return { message: 'the answer is not one of the service; is its address right?' }
}
