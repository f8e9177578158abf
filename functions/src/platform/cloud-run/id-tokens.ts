import type { IdTokenClient } from 'google-auth-library'
import { withinMs } from '../../within-ms.ts'

export type IdTokenPatience = {
  /** Of one token: the library itself would wait for ever where the service is deployed. */
  readonly deadlineMs: number
}

type Held = { readonly client: IdTokenClient; asking: Promise<string> | undefined }

/**
 * ID tokens of the account that this service runs as. One client for each audience, because a client keeps its token until
 * shortly before that ends; google-auth-library makes a new one each time. It is loaded with the first token.
 */
export class IdTokens {
  readonly #clients = new Map<string, Promise<Held>>()
  readonly #patience: IdTokenPatience

  constructor(patience: IdTokenPatience = { deadlineMs: 3_000 }) {
    this.#patience = patience
  }

  /** The token that is good now. Rejects with an Error whose message goes behind "for". */
  async get(audience: string): Promise<string> {
    const held = await this.#held(audience)
    return (held.asking ??= this.#ask(held.client).finally(() => (held.asking = undefined)))
  }

  /** It was refused: the next one is asked for anew. */
  forget(audience: string): void {
    this.#clients.delete(audience)
  }

  #held(audience: string): Promise<Held> {
    const known = this.#clients.get(audience)
    if (known) return known
    const made = makeClient(audience, this.#patience).then((client) => ({ client, asking: undefined }))
    this.#clients.set(audience, made)
    // Credentials that are not there now may be there with the next call.
    made.catch(() => this.#clients.delete(audience))
    return made
  }

  /** As long as the old token is good, a metadata server that does not answer ends no call. */
  async #ask(client: IdTokenClient): Promise<string> {
    try {
      const headers = await withinMs(this.#patience.deadlineMs, client.getRequestHeaders())
      return (headers.get('authorization') ?? '').replace('Bearer ', '')
    } catch (error) {
      const { id_token: token, expiry_date: endsAt = 0 } = client.credentials
      if (token && (endsAt ?? 0) > Date.now()) return token
      throw noToken(error as Error)
    }
  }
}

async function makeClient(audience: string, { deadlineMs }: IdTokenPatience): Promise<IdTokenClient> {
  const { GoogleAuth } = await import('google-auth-library')
  // No ID token names a project, but without one the library would first ask gcloud for it.
  const auth = new GoogleAuth({ projectId: 'none' })
  try {
    return await withinMs(deadlineMs, auth.getIdTokenClient(audience))
  } catch (error) {
    throw noToken(error as Error)
  }
}

/** What the library says of credentials is for the operator, who finds it in the log; who calls a tool can do nothing about it. */
function noToken(cause: Error): Error {
  return new Error('this service gets no ID token from Google to show it', { cause })
}
