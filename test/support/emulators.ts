import { describe } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { signIn, signInWithClaims } from '../../scripts/toolchain/auth-emulator.mjs'
import { testWhere } from './test-where.ts'

/** The emulators that `firebase-setup.mjs` started: endpoints as host:port, project, and the process that supervises the runner. */
export type Emulators = Readonly<
  Record<'auth' | 'firestore' | 'functions' | 'hosting' | 'project', string>
> & {
  readonly runner?: number
}

const { TOOLRACK_TEST_EMULATORS: text } = process.env

/** The addresses are empty if the emulators cannot run. Then the suites of `describeWithEmulators` are skipped. */
export const EMULATORS = (text ? JSON.parse(text) : {}) as Emulators

/** The URLs of Hosting, and of a function that is called directly. */
export const HOSTING = `http://${EMULATORS.hosting}`
export const functionUrl = (name: 'workflows' | 'jobs'): string =>
  `http://${EMULATORS.functions}/${EMULATORS.project}/us-central1/${name}`

/** A suite against the functions as `npm run build` makes them, on the real emulators. The first request starts an instance. */
export function describeWithEmulators(title: string, suite: () => void): void {
  if (text) describe(title, suite)
  else testWhere(false, `${title}: not run, for it needs the emulators.`)(title, () => Promise.resolve())
}

/** A new user with an ID token of the Auth emulator. */
export type Person = { readonly uid: string; readonly fetch: typeof fetch }

export async function newUser(): Promise<Person> {
  return person(await signIn(EMULATORS.auth, `${randomUUID()}@example.com`))
}

export async function newAdmin(): Promise<Person> {
  const claims = { toolrackAdmin: true }
  return person(
    await signInWithClaims(EMULATORS.auth, EMULATORS.project, `${randomUUID()}@example.com`, claims),
  )
}

function person({ uid, idToken }: { uid: string; idToken: string }): Person {
  return {
    uid,
    fetch(address, init = {}) {
      const headers = new Headers(init.headers)
      headers.set('Authorization', `Bearer ${idToken}`)
      return fetch(address, { ...init, headers })
    },
  }
}

/** A name that no other suite uses, because the suites share the global layer. */
export function newName(): string {
  return `T_${randomUUID().replaceAll('-', '_')}`
}
