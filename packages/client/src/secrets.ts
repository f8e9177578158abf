import { parsedJson } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { Service, withNetworkErrors, type ServiceOptions } from './service.ts'

/** A stored secret without its value, which nobody can read. `updatedAt` is ISO 8601, UTC. */
export type StoredSecret = {
  readonly name: string
  readonly layer: 'user' | 'global'
  readonly updatedAt: string
}

export type SecretOptions = Omit<ServiceOptions, 'session'> & {
  /** The secrets of this layer: the user's own, which is the default, or those of everybody, for admins. */
  readonly layer?: 'user' | 'global' | undefined
  /** The longest wait for an answer, in milliseconds. The default is 10,000. */
  readonly deadlineMs?: number | undefined
}

/**
 * Stores secrets for tools. `put` and `delete` need a token that may approve. The methods reject with OPTION_INVALID,
 * TOKEN_FAILED, SERVICE_REFUSED or SERVICE_UNAVAILABLE. Each may be called again with the same arguments.
 */
export class Secrets {
  readonly #service: Service
  readonly #deadlineMs: number
  readonly #layer: 'user' | 'global'

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ deadlineMs = 10_000, layer = 'user', ...service }: SecretOptions) {
    this.#service = new Service(service)
    this.#deadlineMs = deadlineMs
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

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' }
    const init = body ? { method, body: JSON.stringify(body), headers } : { method }
    const address = `../secrets${path}?layer=${this.#layer}`
    try {
      return await inTime(
        this.#deadlineMs,
        () => timedOut(this.#deadlineMs),
        async (signal) => {
          const token = await this.#service.token()
          const { response } = await this.#service.ask(address, token, signal, () => init)
          const answer = parsedJson(await withNetworkErrors(signal, () => response.text()))
          if (answer === undefined && response.status !== 204) throw new ServiceError('UNREADABLE', NOT_THERE)
          return answer
        },
      )
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      throw new ToolsError('SERVICE_UNAVAILABLE', cause.message, { cause })
    }
  }
}

function checked(name: string): string {
  if (/^[A-Z_][A-Z0-9_]{0,127}$/.test(name)) return name
  throw optionInvalid(
    'the name of a secret must be capital letters, digits and _, at most 128, no digit first',
  )
}

const NOT_THERE = 'The answer did not come from the service.'
