import { tokenInvalid } from './authenticate.ts'
import type { Claims } from './claims.ts'
import { isPast } from './claims.ts'
import type { User } from './principal.ts'
import { isUid } from './uid.ts'

/** The longest that Firebase and Google make a token. */
export const GOOGLE_LIFETIME_SECONDS_MAX = 3_600

/** The user of a verified Firebase ID token; the custom claim `toolrackAdmin` makes an admin. */
export function firebaseUser(claims: Claims, nowMs: number): User {
  if (!isUid(claims.sub) || !isPast(claims['auth_time'], nowMs)) throw tokenInvalid()
  return { kind: 'user', uid: claims.sub, isAdmin: claims['toolrackAdmin'] === true }
}
