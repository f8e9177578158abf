import { FirestoreUsageStore } from '../../../../functions/src/stores/firestore/firestore-usage-store.ts'
import { describeOnEmulatorByEach, twoFirestoreStores } from '../../../support/firestore-emulator.ts'
import { usageStoreContract } from '../../../support/usage-store.contract.ts'

describeOnEmulatorByEach('the use of tools in Firestore', (reading) => {
  usageStoreContract(() => twoFirestoreStores((connection) => new FirestoreUsageStore(connection), reading))
})
