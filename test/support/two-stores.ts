import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Documents } from '../../functions/src/documents/documents.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDocuments } from '../../functions/src/stores/sqlite/sqlite-documents.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The same documents as two instances of the service have them, each with its own clock. */
export type TwoDocuments = {
  readonly documents: readonly [Documents, Documents]
  readonly clocks: readonly [Clock, Clock]
  readonly dispose: () => Promise<void>
}

/** Milliseconds since 1970. */
export type Clock = { nowMs: number }

export const START_MS = Date.parse('2026-01-02T03:04:05.678Z')

/** Two instances over one new file of SQLite. */
export function twoSqliteDocuments() {
  const folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const [one, other] = [instance(path), instance(path)]
  return {
    path,
    databases: [one.database, other.database] as const,
    documents: [one.documents, other.documents] as const,
    clocks: [one.clock, other.clock] as const,
    dispose() {
      for (const { database } of [one, other]) if (database.isOpen) database.close()
      folder[Symbol.dispose]()
      return Promise.resolve()
    },
  }
}

function instance(path: string): { database: DatabaseSync; clock: Clock; documents: Documents } {
  const database = openGovernance(path)
  const clock = { nowMs: START_MS }
  return {
    database,
    clock,
    documents: new SqliteDocuments(database, { now: () => clock.nowMs, busyWaitMs: 20_000 }),
  }
}
