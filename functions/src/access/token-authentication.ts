import { LRUCache } from 'lru-cache'
import { hash } from 'node:crypto'
import { parseObject } from '../parse-object.ts'
import { bearerToken, tokenInvalid, type Authenticate, type Credentials } from './authenticate.ts'
import { actingFor, type Claims, type ServiceAccount, type VerifyToken } from './claims.ts'
import type { Principal } from './principal.ts'

type Identity = Principal | ServiceAccount

/**
 * Finds out whose token it is, and when it expires (`endsAt`, in milliseconds since 1970). Rejects with the errors of
 * `Authenticate`.
 */
export type Identify = (token: string) => Promise<{ readonly identity: Identity; readonly endsAt: number }>

/** How each route family identifies its tokens. A family without an entry accepts no tokens. */
type Families = { readonly [family in Credentials['family']]?: Identify | undefined }

/** Authenticates users and jobs by signed tokens. A verified token is remembered for some minutes, and not verified again. */
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

/** Verifies a token and reads its identity from its claims. */
export function identifyBy(verify: VerifyToken, read: (claims: Claims) => Identity): Identify {
  return async function identify(token) {
    const claims = await verify(token)
    return { identity: read(claims), endsAt: claims.exp * 1_000 }
  }
}

/**
 * Identifies a token by `typed` if the `typ` in the token's header is this one, and otherwise by `others`. The header is not
 * verified yet, but each of the two functions accepts only its own kind of token.
 */
export function identifyByType(typ: string, typed: Identify, others: Identify): Identify {
  return function identify(token) {
    const header = parseObject(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString())
    return header?.['typ'] === typ ? typed(token) : others(token)
  }
}

/** How long a verified token is remembered, in milliseconds. During this time it is not verified again. */
export const REMEMBERED_MS = 5 * 60 * 1_000
/** The most verified tokens that are remembered, to bound the memory. A forgotten token is verified again. */
export const REMEMBERED_MAX = 10_000

/** Remembers verified tokens by their SHA-256. A refused token is verified again each time. */
export class RememberedTokens {
  readonly #known = new LRUCache<string, Awaited<ReturnType<Identify>>>({ max: REMEMBERED_MAX })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#known.size
  }

  /** Identifies a token. Not a promise if the token is remembered. Each family remembers its own tokens. */
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
