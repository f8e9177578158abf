import { describeDefinitionStore } from './definition-store.contract.ts'
import type { StoreHarness } from './definition-store.contract.ts'
import { MemoryDefinitionStore } from './memory-definition-store.ts'
import type { MemoryDatabase } from './memory-definition-store.ts'
import { describeConsents } from './consent-store.contract.ts'
import { describeLayerRoom } from './layer-room.contract.ts'
import { describeModuleStore } from './module-store.contract.ts'

function start(): Promise<StoreHarness> {
  const database: MemoryDatabase = new Map()
  return Promise.resolve({
    open: () => Promise.resolve(new MemoryDefinitionStore(database)),
    dispose: () => Promise.resolve(),
  })
}

describeDefinitionStore('the in-memory store of the tests', start)
describeModuleStore('the modules of the in-memory store of the tests', start)
describeConsents('the consents of the in-memory store of the tests', start)
describeLayerRoom('the room of the in-memory store of the tests', start)
