import { describe, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteAgentStore } from '../../../../functions/src/stores/sqlite/sqlite-agent-store.ts'
import { LINKS_PER_USER } from '../../../../functions/src/features/agents/agent.ts'
import { agentOf, agentStoreContract, put } from '../../../support/agent-store.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteStores } from '../../../support/two-stores.ts'

describe('agents in SQLite', () => {
  agentStoreContract(() => twoSqliteStores((database) => new SqliteAgentStore(database)))

  test('a user with the most links gets no new one, but may change one', async () => {
    const database = openGovernance(':memory:')
    const store = new SqliteAgentStore(database)
    database
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO agent_links SELECT 'ann', '', 's' || i, 'a', 0, 0 FROM n`,
      )
      .run(LINKS_PER_USER)
    const link = (uid: string, sessionId: string) =>
      store.link({ uid, project: undefined, sessionId }, 'b', 1)
    expect(await Promise.all([link('ann', 'new'), link('ann', 's1'), link('bob', 'new')])).toEqual([
      false,
      true,
      true,
    ])
    database.close()
  })

  test('a database that another program has locked refuses a change, which was not done', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const [database, other] = [openGovernance(path), openGovernance(path)]
    other.exec('BEGIN IMMEDIATE')
    const store = new SqliteAgentStore(database)
    await expect(put(store, 'ann', agentOf('a'))).rejects.toMatchObject({ code: 'STORE_BUSY' })
    other.exec('ROLLBACK')
    expect(await store.find('ann', 'a')).toBeUndefined()
    database.close()
    other.close()
  })
})
