import { featureStoresContract } from '../../../support/feature-stores.contract.ts'
import { describeOnEmulatorByEach, twoFirestoreDocuments } from '../../../support/firestore-emulator.ts'

describeOnEmulatorByEach('what features keep in Firestore', (reading) => {
  featureStoresContract(() => twoFirestoreDocuments(reading))
})
