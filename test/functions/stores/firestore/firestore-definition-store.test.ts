import { afterAll, beforeAll, jest } from '@jest/globals'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaChecker } from '../../../../functions/src/tools/schemas/schema-checker.ts'
import { describeDefinitionStore } from '../../../support/definition-store.contract.ts'
import type { StoreHarness } from '../../../support/definition-store.contract.ts'
import { connectionTo, describeOnEmulatorByEach, newProject } from '../../../support/firestore-emulator.ts'
import { describeLayerRoom } from '../../../support/layer-room.contract.ts'
import { describeModuleStore } from '../../../support/module-store.contract.ts'

jest.setTimeout(60_000)

describeOnEmulatorByEach('the contract of stores', (reading) => {
  let checker: SchemaChecker
  beforeAll(() => {
    checker = new SchemaChecker()
  })
  afterAll(() => checker.close())

  function start(): Promise<StoreHarness> {
    const projectId = newProject()
    return Promise.resolve({
      open: () =>
        Promise.resolve(
          new FirestoreDefinitionStore({ checker, connection: connectionTo(projectId, { reading }) }),
        ),
      dispose: () => Promise.resolve(),
    })
  }

  describeDefinitionStore('the Firestore store', start)
  describeModuleStore('the modules of the Firestore store', start)
  describeLayerRoom('the room of the Firestore store', start)
})
