import type { Digest, Grant, Layer } from '@toolrack/contract'
import { optionInvalid } from './errors.ts'
import { JsonService, type JsonServiceOptions } from './json-service.ts'

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

export type GrantsOptions = JsonServiceOptions

/**
 * Shows what modules may use, and decides about it. To decide, the token must be one that may approve. The methods reject with
 * OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED (`reason` is the code of the service, such as DIGEST_CHANGED) or
 * SERVICE_UNAVAILABLE.
 */
export class Grants {
  readonly #service: JsonService

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor(options: GrantsOptions) {
    this.#service = new JsonService(options)
  }

  /** The modules that wait for consent. An admin also gets those of the layers `global` and `file`. */
  async pending(): Promise<readonly AskingModule[]> {
    const { items } = await this.#service.ask<{ items: readonly AskingModule[] }>(
      'GET',
      'grants?state=pending',
    )
    return items
  }

  /** Accepts the grants with this digest. Rejects if the module asks for other grants now. */
  accept(module: string, digest: Digest, layer: Layer = 'user'): Promise<DecidedModule> {
    return this.#service.ask('POST', pathOf(module, layer), { digest })
  }

  /** Revokes the consent, so that the tools of the module cannot be called any more. */
  revoke(module: string, layer: Layer = 'user'): Promise<DecidedModule> {
    return this.#service.ask('DELETE', pathOf(module, layer))
  }
}

function pathOf(module: string, layer: Layer): string {
  if (!/^[A-Za-z_]\w{0,63}$/.test(module))
    throw optionInvalid('module must be 1 to 64 letters, digits or _, a letter or _ first')
  return `modules/${module}/grants?layer=${layer}`
}
