import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Sealing } from '../../calls/sealing.ts'
import { SqliteDocuments } from '../../stores/sqlite/sqlite-documents.ts'
import type { Governance } from '../../features/host-parts.ts'
import type { SecretKeys } from '../../features/secrets/secret-keys.ts'

/** The storage of features in the embedded store. Only this process uses the data folder. */
export function embeddedGovernance(
  database: DatabaseSync,
  sealing: Sealing,
  secretKeys?: SecretKeys,
): Governance {
  return {
    documents: (now) => new SqliteDocuments(database, { now }),
    sealing,
    secretKeys,
    process: randomUUID(),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
