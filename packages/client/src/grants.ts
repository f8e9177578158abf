import { parsedJson, type Digest, type Grant, type Layer } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { Service, withNetworkErrors, type ServiceOptions } from './service.ts'

/** A module and what its tools ask for. They cannot be called as long as its state is `pending`. */
export type AskingModule = ModuleGrants & {
  /** The names of the module's tools, sorted. */
  readonly tools: readonly string[]
}

type ModuleGrants = {
  readonly module: string
  readonly layer: Layer
  readonly grants: readonly Grant[]
  /** What a person accepts. */
  readonly grantsDigest: Digest
  readonly state: 'none' | 'pending' | 'accepted'
}

/** The grants of one module, and who has accepted them. */
export type DecidedModule = ModuleGrants & {
  readonly acceptedBy: string | null
  readonly acceptedAt: string | null
}

export type GrantsOptions = Omit<ServiceOptions, 'session'> & {
  /** The longest wait for an answer, in milliseconds. The default is 10,000. */
  readonly deadlineMs?: number | undefined
}

/**
 * Shows what modules may use, and decides about it. To decide, the token must be one that may approve. The methods reject with
 * OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED (`reason` is the code of the service, such as DIGEST_CHANGED) or
 * SERVICE_UNAVAILABLE.
 */
export class Grants {
  readonly #service: Service
  readonly #deadlineMs: number

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ deadlineMs = 10_000, ...service }: GrantsOptions) {
    this.#service = new Service(service)
    this.#deadlineMs = deadlineMs
  }

  /** The modules that wait for consent. An admin also gets those of the layers `global` and `file`. */
  async pending(): Promise<readonly AskingModule[]> {
    const { items } = await this.#ask<{ items: readonly AskingModule[] }>('GET', 'grants?state=pending')
    return items
  }

  /** Accepts the grants with this digest. Rejects if the module asks for other grants now. */
  accept(module: string, digest: Digest, layer: Layer = 'user'): Promise<DecidedModule> {
    return this.#ask('POST', pathOf(module, layer), { digest })
  }

  /** Revokes the consent, so that the tools of the module cannot be called any more. */
  revoke(module: string, layer: Layer = 'user'): Promise<DecidedModule> {
    return this.#ask('DELETE', pathOf(module, layer))
  }

  async #ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const init = {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    }
    try {
      return await inTime(
        this.#deadlineMs,
        () => timedOut(this.#deadlineMs),
        async (signal) => {
          const token = await this.#service.token()
          const { response } = await this.#service.ask(path, token, signal, () => init)
          const answer = parsedJson(await withNetworkErrors(signal, () => response.text()))
          if (answer === undefined) throw new ServiceError('UNREADABLE', NOT_THERE)
          return answer as Answer
        },
      )
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      throw new ToolsError('SERVICE_UNAVAILABLE', cause.message, { cause })
    }
  }
}

const NOT_THERE = 'The answer did not come from the service.'

function pathOf(module: string, layer: Layer): string {
  if (!/^[A-Za-z_]\w{0,63}$/.test(module))
    throw optionInvalid('module must be 1 to 64 letters, digits or _, a letter or _ first')
  return `modules/${module}/grants?layer=${layer}`
}
