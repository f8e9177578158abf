import { optionInvalid } from './errors.ts'
import { JsonService, type JsonServiceOptions } from './json-service.ts'

/** A stored secret without its value, which nobody can read. `updatedAt` is ISO 8601, UTC. */
export type StoredSecret = {
  readonly name: string
  readonly layer: 'user' | 'global'
  readonly updatedAt: string
}

export type SecretOptions = JsonServiceOptions & {
  /** The secrets of this layer: the user's own, which is the default, or those of everybody, for admins. */
  readonly layer?: 'user' | 'global' | undefined
}

/**
 * Stores secrets for tools. `put` and `delete` need a token that may approve. The methods reject with OPTION_INVALID,
 * TOKEN_FAILED, SERVICE_REFUSED or SERVICE_UNAVAILABLE. Each may be called again with the same arguments.
 */
export class Secrets {
  readonly #service: JsonService
  readonly #layer: 'user' | 'global'

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ layer = 'user', ...service }: SecretOptions) {
    this.#service = new JsonService(service)
    this.#layer = layer
  }

  /** Stores a secret, or replaces it. */
  async put(name: string, value: string): Promise<void> {
    await this.#ask('PUT', `/${checked(name)}`, { value })
  }

  /** All secrets, by name. */
  async list(): Promise<readonly StoredSecret[]> {
    const { items } = (await this.#ask('GET', '')) as { readonly items: readonly StoredSecret[] }
    return items
  }

  async delete(name: string): Promise<void> {
    await this.#ask('DELETE', `/${checked(name)}`)
  }

  #ask(method: string, path: string, body?: object): Promise<unknown> {
    return this.#service.ask(method, `../secrets${path}?layer=${this.#layer}`, body)
  }
}

function checked(name: string): string {
  if (/^[A-Z_][A-Z0-9_]{0,127}$/.test(name)) return name
  throw optionInvalid(
    'the name of a secret must be capital letters, digits and _, at most 128, no digit first',
  )
}
