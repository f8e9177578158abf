import type { DatabaseSync } from 'node:sqlite'
import { SqliteIdempotencyKeys } from '../../stores/sqlite/sqlite-idempotency-keys.ts'
import { SqliteApprovalStore } from '../../stores/sqlite/sqlite-approval-store.ts'
import { SqliteSessionStore } from '../../stores/sqlite/sqlite-session-store.ts'
import { SqliteRuleStore } from '../../stores/sqlite/sqlite-rule-store.ts'
import { SqliteScopeStore } from '../../stores/sqlite/sqlite-scope-store.ts'
import type { Governance } from '../services.ts'

/** What is kept about calls in the embedded store. */
export function embeddedGovernance(database: DatabaseSync): Governance {
  const keys = new SqliteIdempotencyKeys(database)
  // Only this process uses the data folder, so a call that has not ended was lost with an earlier process.
  keys.endLeases().catch(() => undefined)
  return {
    keys,
    approvals: new SqliteApprovalStore(database),
    rules: new SqliteRuleStore(database),
    scopes: new SqliteScopeStore(database),
    sessions: new SqliteSessionStore(database),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
