import { expect, test } from '@jest/globals'
import { FirestoreRuleStore } from '../../../../functions/src/stores/firestore/firestore-rule-store.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
  twoFirestoreStores,
} from '../../../support/firestore-emulator.ts'
import { ruleStoreContract } from '../../../support/rule-store.contract.ts'

describeOnEmulatorByEach('rules in Firestore', (reading) => {
  ruleStoreContract(() => twoFirestoreStores((connection) => new FirestoreRuleStore(connection), reading))

  test('a document without a text cannot be read, so nothing goes on without its rules', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc('tools/rules').set({ other: 1 })
    await firestore.terminate()
    const connection = connectionTo(projectId, { reading })
    const store = new FirestoreRuleStore(connection)
    await expect(store.read({ kind: 'everybody' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await connection.close()
  })
})
