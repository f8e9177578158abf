import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { http } from '../../node-http.ts'

/** The server from which an instance of Google Cloud gets its own tokens. */
const METADATA_SERVER = 'http://169.254.169.254'
const PATH = '/computeMetadata/v1/instance/service-accounts/default/token'

const ANSWER_MS = 3_000

/**
 * If a token expires within this time, it is renewed. The metadata server has a new token five minutes before the old one
 * expires.
 */
const RENEWED_BEFORE_MS = 4 * 60 * 1_000

/** Provides the access token for requests to Firestore by REST. */
export type AccessToken = {
  readonly get: () => string | Promise<string>
  /** Must be called after Firestore has refused the token. The next `get` then asks for a new one. */
  readonly forget: () => void
}

/** The token for the emulator. The text `owner` stands for the owner of the project, who may do everything. */
export const EMULATOR_TOKEN: AccessToken = { get: () => 'owner', forget: () => undefined }

/** The access token of the instance's service account. It is renewed shortly before it expires. */
export class MetadataToken implements AccessToken {
  readonly #server: string
  readonly #now: () => number
  #known: { readonly token: string; readonly endsAt: number } | undefined
  #asking: Promise<string> | undefined

  constructor({ server = METADATA_SERVER, now = Date.now }: { server?: string; now?: () => number } = {}) {
    this.#server = server
    this.#now = now
  }

  get(): string | Promise<string> {
    const leftMs = (this.#known?.endsAt ?? 0) - this.#now()
    if (this.#known && leftMs > RENEWED_BEFORE_MS) return this.#known.token
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)))
  }

  forget(): void {
    this.#known = undefined
  }

  /** Asks for a new token. If the metadata server does not answer, the old token is used as long as it is valid. */
  async #ask(): Promise<string> {
    try {
      const { token, seconds } = await askServer(this.#server)
      this.#known = { token, endsAt: this.#now() + seconds * 1_000 }
      return token
    } catch (error) {
      if (this.#known && this.#known.endsAt > this.#now()) return this.#known.token
      throw noToken(error as NodeJS.ErrnoException)
    }
  }
}

/**
 * The error if the metadata server gave no token. Its message names this server, because the log shows only the innermost error.
 */
function noToken({ message, code }: NodeJS.ErrnoException): Error {
  return new Error(`the metadata server gave no access token: ${message || code}`)
}

async function askServer(server: string) {
  const res = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { 'Metadata-Flavor': 'Google' }
    http.get(server + PATH, { headers, signal: AbortSignal.timeout(ANSWER_MS) }, resolve).on('error', reject)
  })
  if (res.statusCode !== 200) {
    res.resume()
    throw new Error(`it answered ${res.statusCode}`)
  }
  const { access_token: token, expires_in: seconds } = (await json(res)) as Record<string, unknown>
  if (typeof token !== 'string' || typeof seconds !== 'number') throw new Error('it answered something else')
  return { token, seconds }
}
