import { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import { newAuditKey, parseAuditKey } from '../../functions/src/features/audit/manifest.ts'
import { SqliteAuditStore } from '../../functions/src/stores/sqlite/sqlite-audit-store.ts'

type Options = ConstructorParameters<typeof AuditTrail>[0]

/** An audit trail without a file, with a key of its own. */
export function memoryAudit(options: Partial<Options> = {}): AuditTrail {
  return new AuditTrail({
    store: new SqliteAuditStore(':memory:'),
    mode: 'on',
    log: { error: () => undefined, info: () => undefined },
    key: parseAuditKey(newAuditKey()),
    ...options,
  })
}
