import type { DatabaseSync } from 'node:sqlite'
import { SqliteAgentStore } from '../../stores/sqlite/sqlite-agent-store.ts'
import { SqliteIdempotencyKeys } from '../../stores/sqlite/sqlite-idempotency-keys.ts'
import { SqliteApprovalStore } from '../../stores/sqlite/sqlite-approval-store.ts'
import { SqliteSessionStore } from '../../stores/sqlite/sqlite-session-store.ts'
import { SqliteUsageStore } from '../../stores/sqlite/sqlite-usage-store.ts'
import { SqliteRuleStore } from '../../stores/sqlite/sqlite-rule-store.ts'
import type { Sealing } from '../../calls/sealing.ts'
import { SqliteScopeStore } from '../../stores/sqlite/sqlite-scope-store.ts'
import type { Governance } from '../../features/host-parts.ts'

/** What is kept about calls in the embedded store. */
export function embeddedGovernance(database: DatabaseSync, sealing: Sealing): Governance {
  const keys = new SqliteIdempotencyKeys(database)
  // Only this process uses the data folder, so a call that has not ended was lost with an earlier process.
  keys.endLeases().catch(() => undefined)
  return {
    keys,
    agents: new SqliteAgentStore(database),
    sealing,
    approvals: new SqliteApprovalStore(database),
    rules: new SqliteRuleStore(database),
    sessions: new SqliteSessionStore(database),
    scopes: new SqliteScopeStore(database),
    usage: new SqliteUsageStore(database),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
