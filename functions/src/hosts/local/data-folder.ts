import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Log } from '../../log.ts'
import { keepFolderPrivate, makePrivateFile } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/** A data folder that this process, and no other, may use. */
export type DataFolder = { readonly path: string; readonly release: () => void }

/**
 * Makes the folder if need be, takes away what other accounts may do with it and its files, and claims it. The claim is an open transaction on a file of its own: the operating
 * system drops it with the process, also after `kill -9`, so no stale claim can keep a server from starting.
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
    if (primary === 5)
      throw new StartError(
        `Another Toolrack server uses the data in ${path}; stop it, or set TOOLRACK_DATA to another folder.`,
        EXIT.dataInUse,
      )
    throw unwritable(path, error)
  }
}

function unwritable(path: string, error: unknown): StartError {
  const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
  return new StartError(
    `The data folder ${path} can not be written (${reason}); make it writable, or set TOOLRACK_DATA to another folder.`,
    EXIT.unwritableData,
  )
}
