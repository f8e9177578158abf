import { describe, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteScopeStore } from '../../../../functions/src/stores/sqlite/sqlite-scope-store.ts'
import { scopeStoreContract } from '../../../support/scope-store.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteStores } from '../../../support/two-stores.ts'

describe('scopes in SQLite', () => {
  scopeStoreContract(() => twoSqliteStores((database) => new SqliteScopeStore(database)))

  test('a database that another program has locked refuses a change, which was not done', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const [database, other] = [openGovernance(path), openGovernance(path)]
    other.exec('BEGIN IMMEDIATE')
    const store = new SqliteScopeStore(database)
    const change = store.change('ann', { kind: 'room', id: '7' }, () => ({ text: 'x', result: undefined }))
    await expect(change).rejects.toMatchObject({ code: 'STORE_BUSY' })
    other.exec('ROLLBACK')
    expect(await store.read('ann', { kind: 'room', id: '7' })).toBeUndefined()
    database.close()
    other.close()
  })

  test('a change waits for another program that has locked the database for a moment', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const [database, other] = [openGovernance(path), openGovernance(path)]
    other.exec('BEGIN IMMEDIATE')
    const store = new SqliteScopeStore(database)
    const change = store.change('ann', { kind: 'room', id: '7' }, () => ({ text: 'x', result: 'done' }))
    other.exec('ROLLBACK')
    expect(await change).toBe('done')
    database.close()
    other.close()
  })
})
