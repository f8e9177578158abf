import { expect, test } from '@jest/globals'
import type { Auth } from 'firebase-admin/auth'
import { changeAdminClaim } from '../../../../functions/src/platform/firebase-auth/admin-claim.ts'

const EMAIL = 'boss@example.com'

/** Firebase Authentication with one user, and the claims that were written. */
function authWith(emailVerified: boolean) {
  const written: unknown[] = []
  const user = { uid: 'u-1', email: EMAIL, emailVerified, customClaims: { team: 'red' } }
  const auth = {
    getUser: () => Promise.resolve(user),
    getUserByEmail: () => Promise.resolve(user),
    setCustomUserClaims: (uid: string, claims: unknown) => Promise.resolve(void written.push([uid, claims])),
  }
  return { auth: auth as unknown as Auth, written }
}

test('a grant by a mail address that is not verified is refused with the uid, because anyone can sign up with it', async () => {
  const { auth, written } = authWith(false)
  await expect(changeAdminClaim(auth, EMAIL, true, false)).rejects.toThrow(/not verified.* name the uid u-1 /)
  expect(written).toEqual([])
})

test.each([
  ['a grant by uid', 'u-1', true, false, false],
  ['a grant by a verified mail address', EMAIL, true, false, true],
  ['a grant by mail in the emulator', EMAIL, true, true, false],
])('%s is done', async (_what, user, isAdmin, isEmulator, isVerified) => {
  const { auth, written } = authWith(isVerified)
  expect(await changeAdminClaim(auth, user, isAdmin, isEmulator)).toMatchObject({ isChanged: true })
  expect(written).toEqual([['u-1', { team: 'red', toolrackAdmin: true }]])
})

test('a revoke by mail needs no verified mail address', async () => {
  const { auth } = authWith(false)
  expect(await changeAdminClaim(auth, EMAIL, false, false)).toMatchObject({ uid: 'u-1', isChanged: false })
})
