import { FirestoreApprovalStore } from '../../../../functions/src/stores/firestore/firestore-approval-store.ts'
import type { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { approvalStoreContract } from '../../../support/approval-store.contract.ts'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'

describeOnEmulator('approvals on Firestore', () => {
  approvalStoreContract(() => {
    const project = newProject()
    const opened: FirestoreConnection[] = []
    return Promise.resolve({
      open() {
        const connection = connectionTo(project)
        opened.push(connection)
        return new FirestoreApprovalStore(connection)
      },
      async dispose() {
        await Promise.all(opened.map((connection) => connection.close()))
      },
    })
  })
})
