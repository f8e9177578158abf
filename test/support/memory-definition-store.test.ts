import { describeDefinitionStore } from './definition-store.contract.ts'
import { MemoryDefinitionStore } from './memory-definition-store.ts'
import type { MemoryDatabase } from './memory-definition-store.ts'

describeDefinitionStore('the in-memory store of the tests', () => {
  const database: MemoryDatabase = new Map()
  return Promise.resolve({
    open: () => Promise.resolve(new MemoryDefinitionStore(database)),
    dispose: () => Promise.resolve(),
  })
})
