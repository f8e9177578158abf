import type { DatabaseSync } from 'node:sqlite'

/** Runs `act` in one transaction, which is taken back when it throws; rethrows that. */
export function inTransaction<T>(database: DatabaseSync, mode: 'DEFERRED' | 'IMMEDIATE', act: () => T): T {
  database.exec(`BEGIN ${mode}`)
  try {
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // Some errors, such as a full disk, have taken it back already.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
