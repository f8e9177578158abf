import { ToolrackError } from '@toolrack/contract'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

/** The primary result codes of SQLite that this program handles (https://www.sqlite.org/rescode.html). */
const BUSY = 5
const LOCKED = 6
const CORRUPT = 11
const FULL = 13
const NOT_A_DATABASE = 26

/** Runs `act` in one transaction. If `act` throws, the transaction is rolled back and the error is thrown again. */
export function inTransaction<T>(database: DatabaseSync, mode: 'DEFERRED' | 'IMMEDIATE', act: () => T): T {
  try {
    // BEGIN is inside of the `try`. If an earlier fault has left a transaction open, BEGIN fails, and the open transaction is
    // rolled back. So it does not block later transactions.
    database.exec(`BEGIN ${mode}`)
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already rolled the transaction back.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** How long a transaction waits for the lock of another program, in milliseconds. */
export const BUSY_WAIT_MS = 1_000
const BUSY_STEP_MS = 20

/**
 * Runs `act` in one transaction. While another program holds the lock, tries again without blocking the event loop. If SQLite
 * reports an error, rejects with a ToolrackError.
 */
export async function inTransactionWhenFree<T>(
  database: DatabaseSync,
  mode: 'DEFERRED' | 'IMMEDIATE',
  act: () => T | Promise<T>,
  waitMs = BUSY_WAIT_MS,
): Promise<T> {
  const end = performance.now() + waitMs
  for (;;) {
    try {
      return inTransaction(database, mode, act)
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw sqliteError(error)
      await sleep(BUSY_STEP_MS)
    }
  }
}

/** Prepares each statement of `sql`. */
export function prepareAll<Name extends string>(
  database: DatabaseSync,
  sql: Readonly<Record<Name, string>>,
): Readonly<Record<Name, StatementSync>> {
  const prepared = Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)])
  return Object.fromEntries(prepared) as Record<Name, StatementSync>
}

/** The version of the tables in the file. It is 0 for a new file. */
export function tablesVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

/** Converts an error of SQLite to a ToolrackError. Other errors stay as they are. */
export function sqliteError(error: unknown): unknown {
  const primary = primaryOf(error)
  if (primary === undefined) return error
  const full = primary === FULL ? 'STORE_FULL' : 'STORE_FAILED'
  return new ToolrackError(isBusy(error) ? 'STORE_BUSY' : full, undefined, { cause: error })
}

export function isBusy(error: unknown): boolean {
  const primary = primaryOf(error)
  return primary === BUSY || primary === LOCKED
}

/** True if the disk or the account's quota is full. */
export function isFull(error: unknown): boolean {
  return primaryOf(error) === FULL
}

/** True for the errors SQLITE_CORRUPT and SQLITE_NOTADB. */
export function isDamaged(error: unknown): boolean {
  const primary = primaryOf(error)
  return primary === CORRUPT || primary === NOT_A_DATABASE
}

function primaryOf(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}
