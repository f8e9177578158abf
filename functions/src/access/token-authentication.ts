import { LRUCache } from 'lru-cache'
import { hash } from 'node:crypto'
import { parseObject } from '../parse-object.ts'
import { bearerToken, tokenInvalid, type Authenticate, type Credentials } from './authenticate.ts'
import { actingFor, type Claims, type ServiceAccount, type VerifyToken } from './claims.ts'
import type { Principal } from './principal.ts'

type Identity = Principal | ServiceAccount

/** Reads whom a token stands for, and until when, in milliseconds since 1970. Rejects as `Authenticate` does. */
export type Identify = (token: string) => Promise<{ readonly identity: Identity; readonly endsAt: number }>

/** Who identifies the tokens of each route family. A family without one takes no tokens. */
export type Doors = { readonly [family in Credentials['family']]?: Identify | undefined }

/** Authenticates people and jobs by signed tokens. A token that was verified before is known at once. */
export function tokenAuthentication(doors: Doors, now: () => number): Authenticate {
  const remembered = new RememberedTokens(now)
  return function authenticate({ authorization, userId, family }) {
    const token = bearerToken(authorization)
    const door = doors[family]
    if (!door) throw tokenInvalid()
    const identity = remembered.identify(family, token, door)
    return identity instanceof Promise
      ? identity.then((verified) => principalOf(verified, userId))
      : principalOf(identity, userId)
  }
}

function principalOf(identity: Identity, userId: string | undefined): Principal {
  return identity.kind === 'account' ? actingFor(userId) : identity
}

/** Verifies a token and reads from its claims whom it stands for. */
export function identifyBy(verify: VerifyToken, read: (claims: Claims) => Identity): Identify {
  return async function identify(token) {
    const claims = await verify(token)
    return { identity: read(claims), endsAt: claims.exp * 1_000 }
  }
}

/**
 * Chooses by the `typ` of a token's header who identifies it. The header is not verified yet, and need not be: each of the
 * two takes its own kind of token only.
 */
export function identifyByType(typ: string, typed: Identify, others: Identify): Identify {
  return function identify(token) {
    const header = parseObject(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString())
    return header?.['typ'] === typ ? typed(token) : others(token)
  }
}

/** For how long a verified token is trusted without another verification, in milliseconds, and how many of them are. */
export const REMEMBERED_MS = 5 * 60 * 1_000
export const REMEMBERED_MAX = 10_000

/** Remembers by their SHA-256 the tokens that were verified. A refused token is verified again each time. */
export class RememberedTokens {
  readonly #known = new LRUCache<string, Awaited<ReturnType<Identify>>>({ max: REMEMBERED_MAX })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#known.size
  }

  /** Answers at once for a known token. A token that is known at one `door` is not known at another one. */
  identify(door: string, token: string, identify: Identify): Identity | Promise<Identity> {
    const key = `${door} ${hash('sha256', token, 'base64url')}`
    const known = this.#known.get(key)
    if (known && this.#now() < known.endsAt) return known.identity
    if (known) this.#known.delete(key)
    return identify(token).then(({ identity, endsAt }) => {
      this.#known.set(key, { identity, endsAt: Math.min(endsAt, this.#now() + REMEMBERED_MS) })
      return identity
    })
  }
}
