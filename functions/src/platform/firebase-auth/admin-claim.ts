import type { Auth } from 'firebase-admin/auth'
import { ADMIN_CLAIM } from '../../access/claims.ts'

export type AdminChange = {
  readonly uid: string
  readonly email: string | undefined
  /** False if the user was already in the wanted state. */
  readonly isChanged: boolean
}

/**
 * Gives a user the claim of an admin, or removes it. The user keeps all other claims. `user` is a uid or a mail address. No uid
 * that the service accepts contains an `@`. Anyone can sign up with the mail address of somebody else. So a grant by mail address
 * needs a verified address, except in the emulator.
 */
export async function changeAdminClaim(
  auth: Auth,
  user: string,
  isAdmin: boolean,
  isEmulator: boolean,
): Promise<AdminChange> {
  const isMail = user.includes('@')
  const { uid, email, emailVerified, customClaims } = await (isMail
    ? auth.getUserByEmail(user)
    : auth.getUser(user))
  if (isAdmin && isMail && !emailVerified && !isEmulator)
    throw new Error(
      `this mail address is not verified, and anyone may have signed up with it. If you know that it is the right user, name the uid ${uid} instead`,
    )
  const { [ADMIN_CLAIM]: present, ...others } = customClaims ?? {}
  const isChanged = present !== (isAdmin ? true : undefined)
  if (isChanged) await auth.setCustomUserClaims(uid, isAdmin ? { ...others, [ADMIN_CLAIM]: true } : others)
  return { uid, email, isChanged }
}
