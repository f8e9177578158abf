import { describe } from '@jest/globals'
import { SqliteUsageStore } from '../../../../functions/src/stores/sqlite/sqlite-usage-store.ts'
import { usageStoreContract } from '../../../support/usage-store.contract.ts'
import { twoSqliteStores } from '../../../support/two-stores.ts'

describe('the use of tools in SQLite', () => {
  usageStoreContract(() => twoSqliteStores((database) => new SqliteUsageStore(database)))
})
