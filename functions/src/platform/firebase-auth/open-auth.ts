import type { Auth } from 'firebase-admin/auth'

/**
 * Opens Firebase Authentication of a project, with the credentials of this machine. If FIREBASE_AUTH_EMULATOR_HOST is set,
 * firebase-admin uses that emulator instead. firebase-admin is loaded only here, because this takes 100 ms.
 */
export async function openAuth(projectId: string): Promise<Auth> {
  const [{ initializeApp }, { getAuth }] = await Promise.all([
    import('firebase-admin/app'),
    import('firebase-admin/auth'),
  ])
  return getAuth(initializeApp({ projectId }, 'toolrack-auth'))
}
