import { join } from 'node:path'
import { embeddedGovernance } from '../../../../functions/src/hosts/local/governance.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDefinitionStore } from '../../../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { answersForAlwaysContract } from '../../../support/answers-for-always.contract.ts'
import { newSealing } from '../../../support/memory-governance.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

answersForAlwaysContract(() => {
  const folder = temporaryFolder()
  const sealing = newSealing()
  return Promise.resolve({
    open: () => ({
      store: () => new SqliteDefinitionStore(join(folder.path, 'toolrack.db')),
      governance: embeddedGovernance(openGovernance(join(folder.path, 'governance.sqlite')), sealing),
    }),
    dispose() {
      folder[Symbol.dispose]()
      return Promise.resolve()
    },
  })
})
