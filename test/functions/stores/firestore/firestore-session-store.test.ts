import { expect, test } from '@jest/globals'
import { FirestoreSessionStore } from '../../../../functions/src/stores/firestore/firestore-session-store.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { sessionOf, sessionStoreContract } from '../../../support/session-store.contract.ts'

describeOnEmulatorByEach('sessions in Firestore', (reading) => {
  sessionStoreContract((bounds) => {
    const projectId = newProject()
    const connections = [connectionTo(projectId, { reading }), connectionTo(projectId, { reading })] as const
    return Promise.resolve({
      stores: [
        new FirestoreSessionStore(connections[0], bounds),
        new FirestoreSessionStore(connections[1], bounds),
      ],
      async dispose() {
        for (const connection of connections) await connection.close()
      },
    })
  })

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
