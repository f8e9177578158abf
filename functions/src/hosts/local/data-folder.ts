import { accessSync, constants, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newJobKeys, parseJobKeys, type JobKeys } from '../../access/job-keys.ts'
import { readLocalToken, TOKEN_FILES } from '../../access/local-token.ts'
import type { LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import { newSealingKey, parseSealingKey, type Sealing } from '../../calls/sealing.ts'
import type { Log } from '../../log.ts'
import { DatabaseFileError } from '../../stores/sqlite/open-database.ts'
import { openGovernance } from '../../stores/sqlite/open-governance.ts'
import { SqliteDefinitionStore } from '../../stores/sqlite/sqlite-definition-store.ts'
import { SqliteInvocationLogs } from '../../stores/sqlite/sqlite-invocation-logs.ts'
import { keepFolderPrivate, makePrivateFile } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

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

/** SQLite's error code for a database that another process has locked. */
const SQLITE_BUSY = 5

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
    if (primary !== SQLITE_BUSY) throw unwritable(path, error)
    throw new StartError(
      `Another Toolrack server uses the data in ${path}; stop it, or set TOOLRACK_DATA to another folder.`,
      EXIT.dataInUse,
    )
  }
}

function unwritable(path: string, error: unknown): StartError {
  return new StartError(
    `The data folder ${path} cannot be written (${reasonOf(error)}); make it writable, or set TOOLRACK_DATA to another folder.`,
    EXIT.unwritableData,
  )
}

export function openStore(folder: string, bytesMax: number): SqliteDefinitionStore {
  return opened(join(folder, 'toolrack.db'), (path) => new SqliteDefinitionStore(path, { bytesMax }))
}

/** Opens the database of what governs calls. A damaged file is not replaced, because its rules would be lost. */
export function openGovernanceFile(folder: string): DatabaseSync {
  return opened(join(folder, 'governance.sqlite'), openGovernance)
}

function opened<Opened>(path: string, open: (path: string) => Opened): Opened {
  try {
    makePrivateFile(path)
    return open(path)
  } catch (error) {
    if (error instanceof DatabaseFileError)
      throw new StartError(
        `${path}: ${error.message}; put a copy of it back, or move the file away to start with an empty store.`,
        EXIT.damagedData,
      )
    const reason = (error as Error).message.replace(/\.$/, '')
    throw new StartError(
      `${path} cannot be opened: ${reason}; make it writable, or set TOOLRACK_DATA to another folder.`,
      EXIT.unwritableData,
    )
  }
}

/** Opens the logs of calls. A file that cannot be used is replaced, because lost logs must not prevent a start. */
export function openLogs(folder: string, bounds: LogBounds): SqliteInvocationLogs {
  const path = join(folder, 'invocations.db')
  function open(): SqliteInvocationLogs {
    makePrivateFile(path)
    return new SqliteInvocationLogs(path, { bounds })
  }
  try {
    return open()
  } catch {
    return usable(path, '', () => {
      for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true })
      return open()
    })
  }
}

export function openToken(folder: string, kind: keyof typeof TOKEN_FILES): string {
  const path = join(folder, TOKEN_FILES[kind])
  return usable(path, ' for a new token', () => readLocalToken(folder, kind))
}

/** Reads the keys of job tokens, or makes them at the first start. Only this account can read the file. */
export function openJobKeys(folder: string): JobKeys {
  const path = join(folder, 'job-keys.json')
  const keys = parseJobKeys(usable(path, ' for a new key', () => keptOrNew(path, newJobKeys)))
  if (keys) return keys
  throw new StartError(
    `${path} does not hold keys of job tokens; correct it, or remove it for a new key.`,
    EXIT.damagedData,
  )
}

/** Reads the key that seals what is kept about calls, or makes it at the first start. Only this account can read the file. */
export function openSealing(folder: string): Sealing {
  const path = join(folder, 'sealing-key')
  const sealing = parseSealingKey(usable(path, ' for a new key', () => keptOrNew(path, newSealingKey)))
  if (sealing) return sealing
  throw new StartError(
    `${path} does not hold a key; put a copy of it back, or remove it for a new key: what waits for an approval must then be asked again, and results that are kept for an Idempotency-Key cannot be read any more.`,
    EXIT.damagedData,
  )
}

function keptOrNew(path: string, make: () => string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const text = make()
  writeFileSync(path, text, { mode: 0o600 })
  return text
}

function usable<Opened>(path: string, remedy: string, open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    throw new StartError(
      `${path} cannot be used (${reasonOf(error)}); make it a file of this account, or remove it${remedy}.`,
      EXIT.unwritableData,
    )
  }
}

/** The code of a system error, such as EACCES, or the message of another error. */
function reasonOf(error: unknown): string {
  const { syscall, code, message } = error as NodeJS.ErrnoException
  return syscall !== undefined && code !== undefined ? code : message
}
