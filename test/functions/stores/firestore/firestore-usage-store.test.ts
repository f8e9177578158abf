import { FirestoreUsageStore } from '../../../../functions/src/stores/firestore/firestore-usage-store.ts'
import { connectionTo, describeOnEmulatorByEach, newProject } from '../../../support/firestore-emulator.ts'
import { usageStoreContract } from '../../../support/usage-store.contract.ts'

describeOnEmulatorByEach('the use of tools in Firestore', (reading) => {
  usageStoreContract(() => {
    const projectId = newProject()
    const connections = [connectionTo(projectId, { reading }), connectionTo(projectId, { reading })] as const
    return Promise.resolve({
      stores: [new FirestoreUsageStore(connections[0]), new FirestoreUsageStore(connections[1])],
      async dispose() {
        for (const connection of connections) await connection.close()
      },
    })
  })
})
