import { describe } from '@jest/globals'
import { Firestore } from '@google-cloud/firestore'
import { randomUUID } from 'node:crypto'
import { FirestoreConnection } from '../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreRest } from '../../functions/src/stores/firestore/firestore-rest.ts'
import { firestoreSettings, STORE_DEADLINES } from '../../functions/src/stores/firestore/connect-firestore.ts'
import { EMULATOR_TOKEN } from '../../functions/src/stores/firestore/metadata-token.ts'
import { testWhere } from './test-where.ts'

/** Where the emulator listens; empty where there is none, and then the suites of `describeOnEmulator` are skipped. */
export const EMULATOR = process.env['FIRESTORE_EMULATOR_HOST'] ?? ''

/** A suite that talks to the real emulator. */
export function describeOnEmulator(title: string, suite: () => void): void {
  if (EMULATOR !== '') describe(title, suite)
  else
    testWhere(false, `${title}: not run, FIRESTORE_EMULATOR_HOST names no emulator.`)(title, () =>
      Promise.resolve(),
    )
}

/** By what an instance reads its layers. */
export type Reading = 'REST' | 'the client'

/** The same suite for both ways of reading. */
export function describeOnEmulatorByEach(title: string, suite: (reading: Reading) => void): void {
  for (const reading of ['REST', 'the client'] as const)
    describeOnEmulator(`${title}, read by ${reading}`, () => suite(reading))
}

/** A project nobody else knows: everything in it is the caller's. */
export function newProject(): string {
  return `demo-${randomUUID()}`
}

/** The client as the service makes it, at another address where the caller has put something in between. */
export function openFirestore(projectId: string, address = EMULATOR, deadlines = STORE_DEADLINES): Firestore {
  const before = process.env['FIRESTORE_EMULATOR_HOST']
  process.env['FIRESTORE_EMULATOR_HOST'] = address
  try {
    return new Firestore({ ...firestoreSettings(deadlines), projectId })
  } finally {
    if (before === undefined) delete process.env['FIRESTORE_EMULATOR_HOST']
    else process.env['FIRESTORE_EMULATOR_HOST'] = before
  }
}

/** What an instance of the service is given; REST, where nothing else is said, as where it is deployed. */
export function connectionTo(
  projectId: string,
  { reading = 'REST', address = EMULATOR }: { reading?: Reading; address?: string } = {},
): FirestoreConnection {
  const rest =
    reading === 'REST' ? new FirestoreRest(`http://${address}`, projectId, EMULATOR_TOKEN) : undefined
  return new FirestoreConnection(() => Promise.resolve(openFirestore(projectId, address)), rest)
}
