import { afterAll, beforeAll } from '@jest/globals'
import { STORE_DEADLINES } from '../../../../functions/src/stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { describeDefinitionStore } from '../../../support/definition-store.contract.ts'
import type { StoreHarness } from '../../../support/definition-store.contract.ts'
import { connectionTo, describeOnEmulatorByEach, newProject } from '../../../support/firestore-emulator.ts'
import { describeConsents } from '../../../support/consent-store.contract.ts'
import { describeLayerRoom } from '../../../support/layer-room.contract.ts'
import { describeModuleStore } from '../../../support/module-store.contract.ts'

/** On a busy machine, fifty writes one after the other may take longer than a write waits for its turn. */
const PATIENT_TURNS = { ...STORE_DEADLINES, turnMs: 60_000 }

describeOnEmulatorByEach('the contract of stores', (reading) => {
  let compilers: SchemaCompilers
  beforeAll(() => {
    compilers = new SchemaCompilers()
  })
  afterAll(() => compilers.close())

  function start(): Promise<StoreHarness> {
    const projectId = newProject()
    return Promise.resolve({
      open: () =>
        Promise.resolve(
          new FirestoreDefinitionStore({
            compilers,
            connection: connectionTo(projectId, { reading }),
            deadlines: PATIENT_TURNS,
          }),
        ),
      dispose: () => Promise.resolve(),
    })
  }

  describeDefinitionStore('the Firestore store', start)
  describeModuleStore('the modules of the Firestore store', start)
  describeConsents('the consents of the Firestore store', start)
  describeLayerRoom('the room of the Firestore store', start)
})
