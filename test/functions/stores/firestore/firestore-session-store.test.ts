import { expect, test } from '@jest/globals'
import { FirestoreSessionStore } from '../../../../functions/src/stores/firestore/firestore-session-store.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
  twoFirestoreStores,
} from '../../../support/firestore-emulator.ts'
import { sessionOf, sessionStoreContract } from '../../../support/session-store.contract.ts'

describeOnEmulatorByEach('sessions in Firestore', (reading) => {
  sessionStoreContract((bounds) =>
    twoFirestoreStores((connection) => new FirestoreSessionStore(connection, bounds), reading),
  )

  test('the largest session fits into a document', async () => {
    const connection = connectionTo(newProject(), { reading })
    const store = new FirestoreSessionStore(connection)
    const digest = `sha256:${'f'.repeat(64)}` as const
    const tools = Array.from({ length: 5_000 }, (_, at) => ({ name: `${at}`.padStart(128, 'n'), digest }))
    const session = sessionOf('s1', { tools })
    await store.change('ann', 's1', 0, () => ({ result: undefined, session }))
    expect(await store.read('ann', 's1')).toEqual(session)
    await connection.close()
  })

  test('a document without its texts cannot be read, so nothing is called without its selection', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc('users/ann/tools/sessions/kept/s1').set({ head: '{}' })
    await firestore.terminate()
    const connection = connectionTo(projectId, { reading })
    const store = new FirestoreSessionStore(connection)
    await expect(store.read('ann', 's1')).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await connection.close()
  })
})
