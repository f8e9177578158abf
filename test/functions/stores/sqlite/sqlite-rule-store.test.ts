import { describe, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteRuleStore } from '../../../../functions/src/stores/sqlite/sqlite-rule-store.ts'
import { ruleStoreContract } from '../../../support/rule-store.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteStores } from '../../../support/two-stores.ts'

describe('rules in SQLite', () => {
  ruleStoreContract(() => twoSqliteStores((database) => new SqliteRuleStore(database)))

  test('a database that another program has locked refuses a change, which was not done', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const [database, other] = [openGovernance(path), openGovernance(path)]
    other.exec('BEGIN IMMEDIATE')
    const store = new SqliteRuleStore(database)
    const change = store.change({ kind: 'everybody' }, () => ({ text: 'x', result: undefined }))
    await expect(change).rejects.toMatchObject({ code: 'STORE_BUSY' })
    other.exec('ROLLBACK')
    expect(await store.read({ kind: 'everybody' })).toBeUndefined()
    database.close()
    other.close()
  })
})
