import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Log } from '../../log.ts'
import { keepFolderPrivate, makePrivateFile } from './private-files.ts'
import { EXIT, reasonOf, StartError } from './start-error.ts'

export type DataFolder = { readonly path: string; readonly release: () => void }

/**
 * Creates the folder if it does not exist, makes it and its files private, and claims it for this process. The claim is an open
 * transaction on a separate file. The claim ends with the process, even after `kill -9`, so a dead server never prevents a start.
 */
export function claimDataFolder(path: string, log: Pick<Log, 'warn'>): DataFolder {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.W_OK | constants.X_OK)
    keepFolderPrivate(path, log)
  } catch (error) {
    throw error instanceof StartError ? error : unwritable(path, error)
  }
  const claim = openClaim(path)
  return { path, release: () => claim.close() }
}

/**
 * Primary result codes of SQLite (sqlite.org/rescode.html). BUSY: another process has the lock. UNUSABLE: the file cannot be
 * opened, or is no database.
 */
const BUSY = 5
const UNUSABLE: ReadonlySet<number> = new Set([11, 14, 26])

function openClaim(path: string): DatabaseSync {
  let claim: DatabaseSync | undefined
  const file = join(path, 'in-use')
  try {
    makePrivateFile(file)
    claim = new DatabaseSync(file, { timeout: 0 })
    claim.exec('BEGIN EXCLUSIVE')
    return claim
  } catch (error) {
    claim?.close()
    const primary = ((error as { errcode?: number }).errcode ?? 0) & 0xff
    if (primary === BUSY)
      throw new StartError(
        `Another Toolrack server uses the data in ${path}; stop it, or set TOOLRACK_DATA to another folder.`,
        EXIT.dataInUse,
      )
    if (UNUSABLE.has(primary)) throw damagedClaim(file, error)
    throw unwritable(path, error)
  }
}

/**
 * The error of a file that cannot be locked. If another server were running, SQLite would have reported its lock. The file
 * contains no data.
 */
function damagedClaim(file: string, error: unknown): StartError {
  return new StartError(
    `${file} cannot be used (${reasonOf(error)}). Servers claim the folder with it, it holds no data, and a person or another program has changed it. Remove it and start again, unless a Toolrack server runs with this folder.`,
    EXIT.damagedData,
  )
}

function unwritable(path: string, error: unknown): StartError {
  return new StartError(
    `The data folder ${path} cannot be written (${reasonOf(error)}); make it writable, or set TOOLRACK_DATA to another folder.`,
    EXIT.unwritableData,
  )
}
