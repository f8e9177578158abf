import type { Authenticate, Credentials } from './authenticate.ts'
import { bearerToken, tokenInvalid } from './authenticate.ts'
import type { Identify } from './identify.ts'
import { RememberedTokens } from './remembered-tokens.ts'
import { actingFor } from './service-account.ts'

/** Who opens which route family; a family without a door is closed to tokens. */
export type Doors = { readonly [family in Credentials['family']]?: Identify | undefined }

/** Knows people and jobs by signed tokens, each family by its own kinds. */
export function tokenAuthentication(doors: Doors, now: () => number): Authenticate {
  const remembered = new RememberedTokens(now)
  return async function authenticate({ authorization, userId, family }) {
    const token = bearerToken(authorization)
    const door = doors[family]
    if (!door) throw tokenInvalid()
    const identity = await remembered.identify(family, token, door)
    return identity.kind === 'account' ? actingFor(userId) : identity
  }
}
