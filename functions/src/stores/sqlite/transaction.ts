import { ToolrackError } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that a caller can act on. */
const BUSY = 5
const LOCKED = 6
const CORRUPT = 11
const FULL = 13
const NOT_A_DATABASE = 26

/** Runs `act` in one transaction, which is rolled back when it throws; rethrows that. */
export function inTransaction<T>(database: DatabaseSync, mode: 'DEFERRED' | 'IMMEDIATE', act: () => T): T {
  database.exec(`BEGIN ${mode}`)
  try {
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // Some errors, such as a full disk, have rolled it back already.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** An error of SQLite as callers of the store know it. An error that is ours already passes through. */
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

/** True if the disk is full, or the part of it that the account may use. */
export function isFull(error: unknown): boolean {
  return primaryOf(error) === FULL
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
export function isDamaged(error: unknown): boolean {
  const primary = primaryOf(error)
  return primary === CORRUPT || primary === NOT_A_DATABASE
}

function primaryOf(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}
