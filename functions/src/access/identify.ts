import type { Claims, VerifyToken } from './claims.ts'
import type { Principal } from './principal.ts'
import type { ServiceAccount } from './service-account.ts'

/** Whom a verified token stands for, until when, in milliseconds. */
export type Identified = { readonly identity: Principal | ServiceAccount; readonly endsAt: number }

/** Rejects as `Authenticate` does. */
export type Identify = (token: string) => Promise<Identified>

/** Verifies a token and reads from its claims whom it stands for. */
export function identifyBy(verify: VerifyToken, read: (claims: Claims) => Identified['identity']): Identify {
  return async function identify(token) {
    const claims = await verify(token)
    return { identity: read(claims), endsAt: claims.exp * 1_000 }
  }
}

/**
 * Sends a token to the door that its header says it is for. The header is not checked yet; each door takes its own kind
 * only, so that a token which claims to be another kind is refused there.
 */
export function identifyByType(typ: string, typed: Identify, others: Identify): Identify {
  return (token) => (typeOf(token) === typ ? typed(token) : others(token))
}

function typeOf(token: string): unknown {
  try {
    const header = JSON.parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString()) as unknown
    return (header as { typ?: unknown } | null)?.typ
  } catch {
    return undefined
  }
}
