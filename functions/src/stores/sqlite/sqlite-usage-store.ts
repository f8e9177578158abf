import type { DatabaseSync } from 'node:sqlite'
import type { KeptUsage, UsageStore } from '../../features/usage/usage-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  read: 'SELECT day, text FROM tool_usage WHERE uid = ?',
  keep: `INSERT INTO tool_usage VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET day = excluded.day, text = excluded.text WHERE excluded.day > tool_usage.day`,
} as const

/** The use of tools in the embedded database, which `openGovernance` has opened. */
export class SqliteUsageStore implements UsageStore {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
  }

  read = async (uid: string): Promise<KeptUsage | undefined> => {
    await Promise.resolve()
    try {
      return this.#read(uid)
    } catch (error) {
      throw sqliteError(error)
    }
  }

  keepFirst = (uid: string, usage: KeptUsage): Promise<KeptUsage> =>
    inTransactionWhenFree(this.#database, 'IMMEDIATE', () => {
      this.#statements.keep.run(uid, usage.day, usage.text)
      return this.#read(uid) ?? usage
    })

  #read(uid: string): KeptUsage | undefined {
    return this.#statements.read.get(uid) as KeptUsage | undefined
  }
}
