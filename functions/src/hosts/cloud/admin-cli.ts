import { isUid } from '../../access/principal.ts'
import { changeAdminClaim } from '../../platform/firebase-auth/admin-claim.ts'
import { openAuth } from '../../platform/firebase-auth/open-auth.ts'

const { GOOGLE_CLOUD_PROJECT: project = '', FIREBASE_AUTH_EMULATOR_HOST: emulator } = process.env
const TARGET = emulator ? `${project} on the emulator at ${emulator}` : project

/** For each error code of firebase-admin, a sentence that tells the operator the cause. */
const REMEDIES: Readonly<Record<string, string>> = {
  'auth/user-not-found': 'there is no such user. Users are created when they sign in for the first time',
  'auth/invalid-email': 'this is not a mail address',
  'auth/insufficient-permission': `these credentials may not change users: they need roles/firebaseauth.admin in ${project}`,
  'auth/claims-too-large':
    "the user's custom claims would be longer than the 1,000 bytes that Firebase allows",
  'app/invalid-credential':
    'there are no valid credentials on this machine: run gcloud auth application-default login',
  'app/network-error': emulator
    ? 'no emulator answers. Start one with npm run dev, or name a project with --project <project id>'
    : 'Firebase cannot be reached',
}

/**
 * The program of `npm run admin -- grant|revoke <uid or mail>`. The exit code is 0 if the user then has the wanted rights, else
 * 1. The process exits at once, because open connections would keep it alive.
 */
const [verb, user = ''] = process.argv.slice(2)
process.exit(await change(user, verb === 'grant'))

async function change(who: string, isAdmin: boolean): Promise<number> {
  if (!who.includes('@') && !isUid(who)) return failed(who, 'it is neither a uid nor a mail address')
  try {
    const auth = await openAuth(project)
    const { uid, email, isChanged } = await changeAdminClaim(auth, who, isAdmin, Boolean(emulator))
    console.log(outcome(email ? `${email} (uid ${uid})` : `uid ${uid}`, isAdmin, isChanged))
    return 0
  } catch (error) {
    const { code = '', message } = error as Error & { readonly code?: string }
    return failed(who, REMEDIES[code] ?? message)
  }
}

function outcome(name: string, isAdmin: boolean, isChanged: boolean): string {
  if (!isChanged)
    return `${name} ${isAdmin ? 'already was an' : 'was no'} admin of ${TARGET}. Nothing was changed.`
  return isAdmin
    ? `${name} is now an admin of ${TARGET}. The next ID token of this user says so; the present one lasts for up to an hour.`
    : `${name} is no longer an admin of ${TARGET}. ID tokens that the user already has say otherwise for up to an hour.`
}

function failed(who: string, why: string): number {
  console.error(`'${who}' of ${TARGET} was not changed: ${why}.`)
  return 1
}
