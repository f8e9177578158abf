import type { DatabaseSync } from 'node:sqlite'
import { SqliteIdempotencyKeys } from '../../stores/sqlite/sqlite-idempotency-keys.ts'
import { SqliteApprovalStore } from '../../stores/sqlite/sqlite-approval-store.ts'
import { SqliteRuleStore } from '../../stores/sqlite/sqlite-rule-store.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { Governance } from '../services.ts'

/** What is kept about calls in the embedded store. */
export function embeddedGovernance(database: DatabaseSync, sealing: Sealing): Governance {
  const keys = new SqliteIdempotencyKeys(database)
  // Only this process uses the data folder, so a call that has not ended was lost with an earlier process.
  keys.endLeases().catch(() => undefined)
  return {
    keys,
    sealing,
    approvals: new SqliteApprovalStore(database),
    rules: new SqliteRuleStore(database),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
