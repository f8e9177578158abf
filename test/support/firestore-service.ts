import type { Firestore } from '@google-cloud/firestore'
import { createApp } from '../../functions/src/app.ts'
import { FirestoreDefinitionStore } from '../../functions/src/firestore/firestore-definition-store.ts'
import { STORE_DEADLINES } from '../../functions/src/firestore/firestore-settings.ts'
import { listen, stopListening } from '../../functions/src/local/listen.ts'
import { closeServices, createServices } from '../../functions/src/services.ts'
import { put, tool } from './definition-changes.ts'

export type FirestoreService = AsyncDisposable & {
  readonly logged: readonly string[]
  /** `fetch` below the service's address, as the user ann, who is an admin. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Resolves when nothing of what was asked is still under way; then only the service's disposal may follow. */
  readonly ended: () => Promise<void>
}

/** The whole service over Firestore in the test's own process; its file layer holds `inFile`. */
export async function firestoreService(
  firestore: Firestore,
  deadlines = STORE_DEADLINES,
): Promise<FirestoreService> {
  const definitions = [{ ...put(tool('inFile')), revision: 'f1' }]
  const logged: string[] = []
  const log = (message: string, fields?: unknown): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`)
  const services = createServices({
    authenticate: ({ family }) =>
      Promise.resolve({ kind: family === 'jobs' ? 'job' : 'user', uid: 'ann', isAdmin: true }),
    store: (checker) =>
      new FirestoreDefinitionStore({ checker, deadlines, connect: () => Promise.resolve(firestore) }),
    files: () => ({
      read: () => Promise.resolve({ revision: 'f1', whole: true, definitions, deleted: [], skipped: [] }),
    }),
    log: { info: log, warn: log, error: log },
    envelope: 'array',
    defaultWorkflow: 'tools-CliTools',
    corsOrigins: [],
  })
  const listening = await listen(createApp(services), '127.0.0.1', 0)
  return {
    logged,
    fetch: (path, init) => fetch(listening.url + path, init),
    ended: () => services.store.close(),
    [Symbol.asyncDispose]: async () => {
      await stopListening(listening)
      await closeServices(services)
    },
  }
}
