import { firestoreGovernance } from '../../../../functions/src/hosts/firestore-governance.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { answersForAlwaysContract } from '../../../support/answers-for-always.contract.ts'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  PATIENT_DEADLINES,
} from '../../../support/firestore-emulator.ts'
import { newSealing } from '../../../support/memory-governance.ts'

describeOnEmulator('answers for always on Firestore', () => {
  answersForAlwaysContract(() => {
    const project = newProject()
    const sealing = newSealing()
    return Promise.resolve({
      open() {
        const connection = connectionTo(project)
        return {
          store: (compilers) =>
            new FirestoreDefinitionStore({ connection, compilers, deadlines: PATIENT_DEADLINES }),
          governance: firestoreGovernance(connection, sealing),
        }
      },
      dispose: () => Promise.resolve(),
    })
  })
})
