import type { Auth } from 'firebase-admin/auth'
import { ADMIN_CLAIM } from '../../access/claims.ts'

export type AdminChange = {
  readonly uid: string
  readonly email: string | undefined
  /** False if the user had the wanted state before. */
  readonly isChanged: boolean
}

/**
 * Gives a user the claim of an admin, or removes it. All other claims of the user stay. The user is a uid or a mail address: no
 * uid that the service accepts contains an `@`.
 */
export async function changeAdminClaim(auth: Auth, user: string, isAdmin: boolean): Promise<AdminChange> {
  const { uid, email, customClaims } = await (user.includes('@')
    ? auth.getUserByEmail(user)
    : auth.getUser(user))
  const { [ADMIN_CLAIM]: present, ...others } = customClaims ?? {}
  const isChanged = present !== (isAdmin ? true : undefined)
  if (isChanged) await auth.setCustomUserClaims(uid, isAdmin ? { ...others, [ADMIN_CLAIM]: true } : others)
  return { uid, email, isChanged }
}
