import { accessSync, constants, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { LogBounds } from '../../calls/invocation-logs.ts'
import { ArtifactFiles } from '../../stores/files/artifact-files.ts'
import { DatabaseFileError, OlderDatabaseError } from '../../stores/sqlite/database-file.ts'
import { openGovernance } from '../../stores/sqlite/open-governance.ts'
import { SqliteAuditStore } from '../../stores/sqlite/sqlite-audit-store.ts'
import { SqliteDefinitionStore } from '../../stores/sqlite/sqlite-definition-store.ts'
import { SqliteInvocationLogs } from '../../stores/sqlite/sqlite-invocation-logs.ts'
import { lostDatabase, olderFolder, type DatabaseName } from './lost-database.ts'
import { ARTIFACTS_FOLDER, makePrivateFile } from './private-files.ts'
import { EXIT, reasonOf, StartError } from './start-error.ts'

// The next three functions never replace a database, because its content would be lost. Only the logs of calls are replaced.

export function openStore(folder: string, bytesMax: number): SqliteDefinitionStore {
  return opened(folder, 'toolrack.db', (path) => new SqliteDefinitionStore(path, { bytesMax }))
}

export function openGovernanceFile(folder: string): DatabaseSync {
  return opened(folder, 'governance.sqlite', openGovernance)
}

export function openAuditFile(folder: string): SqliteAuditStore {
  return opened(folder, 'audit.sqlite', (path) => new SqliteAuditStore(path))
}

function opened<Opened>(folder: string, name: DatabaseName, open: (path: string) => Opened): Opened {
  const path = join(folder, name)
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new DatabaseFileError('is a folder, or something else that is no file')
    refuseUnreadable(path)
    return open(path)
  } catch (error) {
    if (error instanceof OlderDatabaseError) throw olderFolder(folder, name, error.message)
    if (error instanceof DatabaseFileError) throw lostDatabase(folder, name, error.message)
    throw new StartError(
      `${path} cannot be opened (${reasonOf(error)}); make it a file that this account can read and write, or set TOOLRACK_DATA to another folder.`,
      EXIT.unwritableData,
    )
  }
}

/**
 * Throws if the file exists but cannot be both read and written. SQLite would report this less clearly, or open the file only for
 * reading.
 */
function refuseUnreadable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Opens the folder with the bytes of artifacts, and removes what a killed server has left unfinished there. */
export function openArtifacts(folder: string): ArtifactFiles {
  const path = join(folder, ARTIFACTS_FOLDER)
  try {
    return new ArtifactFiles(path)
  } catch (error) {
    throw new StartError(
      `${path} cannot be used (${reasonOf(error)}); make it a folder of this account, or set TOOLRACK_DATA to another folder.`,
      EXIT.unwritableData,
    )
  }
}

/** Opens the logs of calls. A file that cannot be used is replaced, because lost logs must not prevent the start. */
export function openLogs(folder: string, bounds: LogBounds): SqliteInvocationLogs {
  const path = join(folder, 'invocations.db')
  function open(): SqliteInvocationLogs {
    makePrivateFile(path)
    return new SqliteInvocationLogs(path, { bounds })
  }
  try {
    return open()
  } catch {
    // The file is replaced below.
  }
  try {
    for (const end of ['', '-wal', '-shm', '-journal', '-newest']) rmSync(path + end, { force: true })
    return open()
  } catch (error) {
    throw new StartError(
      `${path} cannot be used (${reasonOf(error)}); make it a file of this account, or remove it.`,
      EXIT.unwritableData,
    )
  }
}
