import { beforeAll, describe } from '@jest/globals'
import { Firestore } from '@google-cloud/firestore'
import { randomUUID } from 'node:crypto'
import {
  CallsUnderWay,
  FirestoreConnection,
} from '../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreDocuments } from '../../functions/src/stores/firestore/firestore-documents.ts'
import { FirestoreRest } from '../../functions/src/stores/firestore/firestore-rest.ts'
import { firestoreSettings, STORE_DEADLINES } from '../../functions/src/stores/firestore/connect-firestore.ts'
import type { StoreDeadlines } from '../../functions/src/stores/firestore/connect-firestore.ts'
import { EMULATOR_TOKEN } from '../../functions/src/stores/firestore/metadata-token.ts'
import { testWhere } from './test-where.ts'
import { START_MS } from './two-stores.ts'

/** The endpoint of the emulator. If it is empty, the suites of `describeOnEmulator` are skipped. */
export const EMULATOR = process.env['FIRESTORE_EMULATOR_HOST'] ?? ''

/** On a busy machine the emulator may need longer for a call than the deadlines of the stores. */
const PATIENCE = 5

/** Deadlines for the tests that are not about deadlines. */
export const PATIENT_DEADLINES: StoreDeadlines = {
  readMs: PATIENCE * STORE_DEADLINES.readMs,
  wholeReadMs: PATIENCE * STORE_DEADLINES.wholeReadMs,
  turnMs: PATIENCE * STORE_DEADLINES.turnMs,
  writeMs: PATIENCE * STORE_DEADLINES.writeMs,
}

/** Waits longer for each call than the store asks for. */
class PatientCalls extends CallsUnderWay {
  override within<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return super.within(PATIENCE * ms, call)
  }
}

class PatientConnection extends FirestoreConnection {
  override readonly calls = new PatientCalls()
}

/** A suite that talks to the real emulator. */
export function describeOnEmulator(title: string, suite: () => void): void {
  if (EMULATOR === '') {
    const sentence = `${title}: not run, FIRESTORE_EMULATOR_HOST names no emulator.`
    testWhere(false, sentence)(title, () => Promise.resolve())
    return
  }
  describe(title, () => {
    // The first call of a process loads the client. On a busy machine this takes longer than the deadlines of the stores.
    beforeAll(async () => {
      const firestore = openFirestore(newProject())
      await firestore.doc('a/b').get()
      await firestore.terminate()
    }, 60_000)
    suite()
  })
}

/** The way in which an instance reads its layers. */
export type Reading = 'REST' | 'the client'

/** The same suite for both ways of reading. */
export function describeOnEmulatorByEach(title: string, suite: (reading: Reading) => void): void {
  for (const reading of ['REST', 'the client'] as const)
    describeOnEmulator(`${title}, read by ${reading}`, () => suite(reading))
}

/** A new project, which only the caller uses. */
export function newProject(): string {
  return `demo-${randomUUID()}`
}

/** The client as the service makes it. It is patient at the emulator, and at the address of a proxy it has the service's deadlines. */
export function openFirestore(projectId: string, address = EMULATOR): Firestore {
  const before = process.env['FIRESTORE_EMULATOR_HOST']
  process.env['FIRESTORE_EMULATOR_HOST'] = address
  const deadlines = address === EMULATOR ? PATIENT_DEADLINES : STORE_DEADLINES
  try {
    return new Firestore({ ...firestoreSettings(deadlines), projectId })
  } finally {
    if (before === undefined) delete process.env['FIRESTORE_EMULATOR_HOST']
    else process.env['FIRESTORE_EMULATOR_HOST'] = before
  }
}

/**
 * The settings of an instance of the service. It reads by REST by default, as in a deployment. It is patient at the emulator, and
 * has the service's deadlines at the address of a proxy, which loses what is sent.
 */
export function connectionTo(
  projectId: string,
  { reading = 'REST', address = EMULATOR }: { reading?: Reading; address?: string } = {},
): FirestoreConnection {
  const rest =
    reading === 'REST' ? new FirestoreRest(`http://${address}`, projectId, EMULATOR_TOKEN) : undefined
  const Connection = address === EMULATOR ? PatientConnection : FirestoreConnection
  return new Connection(() => Promise.resolve(openFirestore(projectId, address)), rest)
}

/** Two instances over one new project of the Firestore emulator. */
export function twoFirestoreDocuments(reading: Reading = 'REST') {
  const projectId = newProject()
  const instance = () => {
    const connection = connectionTo(projectId, { reading })
    const clock = { nowMs: START_MS }
    return { connection, clock, documents: new FirestoreDocuments(connection, { now: () => clock.nowMs }) }
  }
  const [one, other] = [instance(), instance()]
  return {
    projectId,
    documents: [one.documents, other.documents] as const,
    clocks: [one.clock, other.clock] as const,
    async dispose() {
      for (const { connection } of [one, other]) await connection.close()
    },
  }
}
