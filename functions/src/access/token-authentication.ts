import type { Authenticate, Credentials } from './authenticate.ts'
import { bearerToken, tokenInvalid } from './authenticate.ts'
import type { Identified, Identify } from './identify.ts'
import type { Principal } from './principal.ts'
import { RememberedTokens } from './remembered-tokens.ts'
import { actingFor } from './service-account.ts'

/** Who opens which route family; a family without a door is closed to tokens. */
export type Doors = { readonly [family in Credentials['family']]?: Identify | undefined }

/** Knows people and jobs by signed tokens, each family by its own kinds; at once those whose token was verified before. */
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

function principalOf(identity: Identified['identity'], userId: string | undefined): Principal {
  return identity.kind === 'account' ? actingFor(userId) : identity
}
