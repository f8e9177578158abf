import type { GoogleAuth } from 'google-auth-library'
import { withinMs } from '../../within-ms.ts'

/** Provides the access token for requests to Cloud Storage. */
export type AccessToken = {
  readonly get: () => Promise<string>
  /** Must be called after Cloud Storage has refused the token. The next `get` then asks for a new one. */
  readonly forget: () => void
}

/** The token for the emulator. The text `owner` stands for the owner of the project, who may do everything. */
export const EMULATOR_TOKEN: AccessToken = { get: () => Promise.resolve('owner'), forget: () => undefined }

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'

/**
 * The longest wait for a token, in milliseconds. It is the same as for the runner's tokens. Without it, the library could wait
 * forever in a deployed service.
 */
const TOKEN_MS = 3_000

/**
 * The access token of the account as which this service runs. The library keeps it, and renews it before it expires. The library
 * is loaded only when the first token is needed.
 */
export class AccountToken implements AccessToken {
  #auth: Promise<GoogleAuth> | undefined

  async get(): Promise<string> {
    const auth = await (this.#auth ??= newAuth())
    const token = await withinMs(TOKEN_MS, auth.getAccessToken())
    if (!token) throw new Error('this service has no account of Google Cloud')
    return token
  }

  forget(): void {
    this.#auth = undefined
  }
}

async function newAuth(): Promise<GoogleAuth> {
  const { GoogleAuth } = await import('google-auth-library')
  return new GoogleAuth({ scopes: SCOPE })
}
