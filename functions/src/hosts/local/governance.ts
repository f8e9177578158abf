import type { DatabaseSync } from 'node:sqlite'
import { SqliteRuleStore } from '../../stores/sqlite/sqlite-rule-store.ts'
import type { Governance } from '../services.ts'

/** What is kept about calls in the embedded store. */
export function embeddedGovernance(database: DatabaseSync): Governance {
  return {
    rules: new SqliteRuleStore(database),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
