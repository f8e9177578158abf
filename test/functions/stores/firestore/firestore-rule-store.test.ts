import { expect, test } from '@jest/globals'
import { FirestoreRuleStore } from '../../../../functions/src/stores/firestore/firestore-rule-store.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { ruleStoreContract } from '../../../support/rule-store.contract.ts'

describeOnEmulatorByEach('rules in Firestore', (reading) => {
  ruleStoreContract(() => {
    const projectId = newProject()
    const connections = [connectionTo(projectId, { reading }), connectionTo(projectId, { reading })] as const
    return Promise.resolve({
      stores: [new FirestoreRuleStore(connections[0]), new FirestoreRuleStore(connections[1])],
      async dispose() {
        for (const connection of connections) await connection.close()
      },
    })
  })

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
