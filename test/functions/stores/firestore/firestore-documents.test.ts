import { documentsContract } from '../../../support/documents.contract.ts'
import { describeOnEmulatorByEach, twoFirestoreDocuments } from '../../../support/firestore-emulator.ts'

describeOnEmulatorByEach('documents in Firestore', (reading) => {
  // An eighth of the bound in the suite, and one body.
  documentsContract(() => twoFirestoreDocuments(reading), { slackBytes: 100_000 / 8 + 10_000 })
})
