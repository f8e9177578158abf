import { describe, expect, test } from '@jest/globals'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteSessionStore } from '../../../../functions/src/stores/sqlite/sqlite-session-store.ts'
import { sessionOf, sessionStoreContract } from '../../../support/session-store.contract.ts'
import { twoSqliteStores } from '../../../support/two-stores.ts'

describe('sessions in SQLite', () => {
  sessionStoreContract((bounds) => twoSqliteStores((database) => new SqliteSessionStore(database, bounds)))

  test('the sums of a user stay right through every kind of change', async () => {
    const database = openGovernance(':memory:')
    const store = new SqliteSessionStore(database)
    const put = (id: string, model: string | null = null): Promise<undefined> =>
      store.change('ann', id, 0, () => ({ result: undefined, session: sessionOf(id, { model }) }))
    await put('s1')
    await put('s2')
    await put('s1', 'a longer one')
    await store.change('ann', 's2', 0, () => ({ result: undefined, session: null }))
    const counted = 'SELECT count(*) AS sessions, sum(bytes) AS bytes FROM sessions'
    expect(database.prepare('SELECT sessions, bytes FROM session_sums').get()).toEqual(
      database.prepare(counted).get(),
    )
    await store.change('ann', 's1', Number.MAX_SAFE_INTEGER, () => ({ result: undefined }))
    expect(database.prepare('SELECT * FROM session_sums').all()).toEqual([])
    database.close()
  })
})
