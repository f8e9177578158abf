import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { http } from '../../node-http.ts'

/** Tells an instance of Google Cloud about itself. */
const METADATA_SERVER = 'http://169.254.169.254'
const PATH = '/computeMetadata/v1/instance/service-accounts/default/token'

const ANSWER_MS = 3_000

/** The metadata server gives a new token when the old one ends in less than five minutes, and the old one before. */
const RENEWED_BEFORE_MS = 4 * 60 * 1_000

/** The token that a request by REST carries. */
export type AccessToken = {
  readonly get: () => string | Promise<string>
  /** Firestore has refused the token: the next `get` asks for a new one. */
  readonly forget: () => void
}

/** The emulator lets the owner of a project do everything. */
export const EMULATOR_TOKEN: AccessToken = { get: () => 'owner', forget: () => undefined }

type Known = { readonly token: string; readonly endsAt: number }

/** The access token of the instance's service account, asked for once and again shortly before it ends. */
export class MetadataToken implements AccessToken {
  readonly #server: string
  readonly #now: () => number
  #known: Known | undefined
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

  /** While the old token is good, it is used if the metadata server does not answer. */
  async #ask(): Promise<string> {
    try {
      const { access_token: token, expires_in: seconds } = await askServer(this.#server)
      this.#known = { token, endsAt: this.#now() + seconds * 1_000 }
      return token
    } catch (error) {
      if (this.#known && this.#known.endsAt > this.#now()) return this.#known.token
      throw noToken(error as NodeJS.ErrnoException)
    }
  }
}

/** Names the metadata server, because the log shows only the innermost error. */
function noToken({ message, code }: NodeJS.ErrnoException): Error {
  return new Error(`the metadata server gave no access token: ${message || code}`)
}

type Answer = { readonly access_token: string; readonly expires_in: number }

async function askServer(server: string): Promise<Answer> {
  const res = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { 'Metadata-Flavor': 'Google' }
    http.get(server + PATH, { headers, signal: AbortSignal.timeout(ANSWER_MS) }, resolve).on('error', reject)
  })
  if (res.statusCode !== 200) {
    res.resume()
    throw new Error(`it answered ${res.statusCode}`)
  }
  const { access_token: token, expires_in: seconds } = (await json(res)) as Partial<Answer>
  if (typeof token !== 'string' || typeof seconds !== 'number') throw new Error('it answered something else')
  return { access_token: token, expires_in: seconds }
}
