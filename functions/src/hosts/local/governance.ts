import type { DatabaseSync } from 'node:sqlite'
import type { Governance } from '../services.ts'

/** What is kept about calls in the embedded store. */
export function embeddedGovernance(database: DatabaseSync): Governance {
  return {
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
