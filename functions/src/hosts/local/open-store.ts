import { join } from 'node:path'
import { DatabaseFileError } from '../../stores/sqlite/open-database.ts'
import { SqliteDefinitionStore } from '../../stores/sqlite/sqlite-definition-store.ts'
import { makePrivateFile } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/** Opens the embedded store, or says in one sentence why it can't be. */
export function openStore(folder: string, bytesMax: number): SqliteDefinitionStore {
  const path = join(folder, 'toolrack.db')
  try {
    makePrivateFile(path)
    return new SqliteDefinitionStore(path, { bytesMax })
  } catch (error) {
    if (error instanceof DatabaseFileError) {
      throw new StartError(
        `${path}: ${error.message}; put a copy of it back, or move the file away to start with an empty store.`,
        EXIT.damagedData,
      )
    }
    const reason = (error as Error).message.replace(/\.$/, '')
    throw new StartError(
      `${path} can not be opened: ${reason}; make it writable, or set TOOLRACK_DATA to another folder.`,
      EXIT.unwritableData,
    )
  }
}
