import { LRUCache } from 'lru-cache'
import { hash } from 'node:crypto'
import { parseObject } from '../parse-object.ts'
import { bearerToken, tokenInvalid, type Authenticate, type Credentials } from './authenticate.ts'
import { actingFor, type Claims, type ServiceAccount, type VerifyToken } from './claims.ts'
import type { Principal } from './principal.ts'

type Identity = Principal | ServiceAccount

/** Finds out whose token it is, and until when it is valid, in milliseconds since 1970. Rejects as `Authenticate` does. */
export type Identify = (token: string) => Promise<{ readonly identity: Identity; readonly endsAt: number }>

/** How each route family identifies its tokens. A family without an entry accepts no tokens. */
type Families = { readonly [family in Credentials['family']]?: Identify | undefined }

/** Authenticates people and jobs by signed tokens. A token that was verified before is known at once. */
export function tokenAuthentication(families: Families, now: () => number): Authenticate {
  const remembered = new RememberedTokens(now)
  return function authenticate({ authorization, userId, family }) {
    const token = bearerToken(authorization)
    const identify = families[family]
    if (!identify) throw tokenInvalid()
    const identity = remembered.identify(family, token, identify)
    return identity instanceof Promise
      ? identity.then((verified) => principalOf(verified, userId))
      : principalOf(identity, userId)
  }
}

function principalOf(identity: Identity, userId: string | undefined): Principal {
  return identity.kind === 'account' ? actingFor(userId) : identity
}

/** Verifies a token and reads from its claims whose it is. */
export function identifyBy(verify: VerifyToken, read: (claims: Claims) => Identity): Identify {
  return async function identify(token) {
    const claims = await verify(token)
    return { identity: read(claims), endsAt: claims.exp * 1_000 }
  }
}

/** Chooses by the unverified `typ` of a token's header. Each of the two accepts only its own kind of token. */
export function identifyByType(typ: string, typed: Identify, others: Identify): Identify {
  return function identify(token) {
    const header = parseObject(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString())
    return header?.['typ'] === typ ? typed(token) : others(token)
  }
}

/** For how long a verified token is not verified again, in milliseconds, and how many such tokens are remembered. */
export const REMEMBERED_MS = 5 * 60 * 1_000
export const REMEMBERED_MAX = 10_000

/** Remembers the SHA-256 of tokens that were verified. A refused token is verified again each time. */
export class RememberedTokens {
  readonly #known = new LRUCache<string, Awaited<ReturnType<Identify>>>({ max: REMEMBERED_MAX })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#known.size
  }

  /** Answers at once for a known token. A token that is known in one family is not known in the other one. */
  identify(family: string, token: string, identify: Identify): Identity | Promise<Identity> {
    const key = `${family} ${hash('sha256', token, 'base64url')}`
    const known = this.#known.get(key)
    if (known && this.#now() < known.endsAt) return known.identity
    if (known) this.#known.delete(key)
    return identify(token).then(({ identity, endsAt }) => {
      this.#known.set(key, { identity, endsAt: Math.min(endsAt, this.#now() + REMEMBERED_MS) })
      return identity
    })
  }
}
