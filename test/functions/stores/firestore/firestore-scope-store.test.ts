import { expect, test } from '@jest/globals'
import { FirestoreScopeStore } from '../../../../functions/src/stores/firestore/firestore-scope-store.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
  twoFirestoreStores,
} from '../../../support/firestore-emulator.ts'
import { scopeStoreContract } from '../../../support/scope-store.contract.ts'

describeOnEmulatorByEach('scopes in Firestore', (reading) => {
  scopeStoreContract(() => twoFirestoreStores((connection) => new FirestoreScopeStore(connection), reading))

  test('a document without a text cannot be read, so no list goes on without its scope', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc('users/ann/tools/scopes/items/room-Nw').set({ other: 1 })
    await firestore.terminate()
    const connection = connectionTo(projectId, { reading })
    const store = new FirestoreScopeStore(connection)
    await expect(store.read('ann', { kind: 'room', id: '7' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await connection.close()
  })
})
