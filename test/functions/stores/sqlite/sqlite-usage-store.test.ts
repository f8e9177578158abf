import { describe } from '@jest/globals'
import { join } from 'node:path'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteUsageStore } from '../../../../functions/src/stores/sqlite/sqlite-usage-store.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { usageStoreContract } from '../../../support/usage-store.contract.ts'

describe('the use of tools in SQLite', () => {
  usageStoreContract(() => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const databases = [openGovernance(path), openGovernance(path)] as const
    return Promise.resolve({
      stores: [new SqliteUsageStore(databases[0]), new SqliteUsageStore(databases[1])],
      dispose() {
        for (const database of databases) database.close()
        folder[Symbol.dispose]()
        return Promise.resolve()
      },
    })
  })
})
