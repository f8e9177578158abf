import type { ErrorCode } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html) that a caller can act on. */
const BUSY = 5
const LOCKED = 6
const FULL = 13

/** An error of SQLite as callers of the store know it. Errors that are ours already pass through. */
export function sqliteError(error: unknown): unknown {
  const errcode = (error as { errcode?: number }).errcode
  if (errcode === undefined) return error
  return new ToolrackError(codeOf(errcode & 0xff), undefined, { cause: error })
}

export function isBusy(error: unknown): boolean {
  const primary = primaryOf(error)
  return primary === BUSY || primary === LOCKED
}

/** Whether the disk, or what the account may use of it, is full. */
export function isFull(error: unknown): boolean {
  return primaryOf(error) === FULL
}

function primaryOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff
}

function codeOf(primary: number): ErrorCode {
  if (primary === BUSY || primary === LOCKED) return 'STORE_BUSY'
  return primary === FULL ? 'STORE_FULL' : 'STORE_FAILED'
}
