import type { IdTokenClient } from 'google-auth-library'
import { withinMs } from '../../within-ms.ts'

type Held = { readonly client: IdTokenClient; asking: Promise<string> | undefined }

/**
 * Provides ID tokens of the account as which this service runs. There is one client for each audience. A client keeps its token
 * until shortly before it expires. google-auth-library is loaded only when the first token is needed.
 */
export class IdTokens {
  readonly #clients = new Map<string, Promise<Held>>()
  readonly #deadlineMs: number

  /** `deadlineMs` is the longest wait for one token. Without it, the library could wait forever in a deployed service. */
  constructor({ deadlineMs = 3_000 } = {}) {
    this.#deadlineMs = deadlineMs
  }

  /** A valid token for an audience. Rejects with an Error whose message can follow the word "because". */
  async get(audience: string): Promise<string> {
    const held = await this.#held(audience)
    return (held.asking ??= this.#ask(held.client).finally(() => (held.asking = undefined)))
  }

  /** Makes the next `get` fetch a new token, because the present one was refused. */
  forget(audience: string): void {
    this.#clients.delete(audience)
  }

  #held(audience: string): Promise<Held> {
    const known = this.#clients.get(audience)
    if (known) return known
    const made = makeClient(audience, this.#deadlineMs).then((client) => ({ client, asking: undefined }))
    this.#clients.set(audience, made)
    // After a failure, the next call makes a new client, because there may be credentials by then.
    made.catch(() => this.#clients.delete(audience))
    return made
  }

  /** Asks for a new token. If the metadata server does not answer, returns the old token as long as it is valid. */
  async #ask(client: IdTokenClient): Promise<string> {
    try {
      const headers = await withinMs(this.#deadlineMs, client.getRequestHeaders())
      return (headers.get('authorization') ?? '').replace('Bearer ', '')
    } catch (error) {
      const { id_token: token, expiry_date: endsAt = 0 } = client.credentials
      if (token && (endsAt ?? 0) > Date.now()) return token
      throw noToken(error as Error)
    }
  }
}

async function makeClient(audience: string, deadlineMs: number): Promise<IdTokenClient> {
  const { GoogleAuth } = await import('google-auth-library')
  // An ID token needs no project, but without a project the library would first ask gcloud for one.
  const auth = new GoogleAuth({ projectId: 'none' })
  try {
    return await withinMs(deadlineMs, auth.getIdTokenClient(audience))
  } catch (error) {
    throw noToken(error as Error)
  }
}

/**
 * The error if there is no token. The library's message is only logged, because the caller of a tool cannot correct credentials.
 */
function noToken(cause: Error): Error {
  return new Error('this service gets no ID token from Google to show it', { cause })
}
