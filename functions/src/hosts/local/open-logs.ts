import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { SqliteInvocationLogs } from '../../stores/sqlite/sqlite-invocation-logs.ts'
import { makePrivateFile } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/** Opens what calls have printed. A file that can not be read is no loss worth a stop: it is made anew. */
export function openLogs(folder: string): SqliteInvocationLogs {
  const path = join(folder, 'invocations.db')
  try {
    return open(path)
  } catch {
    return openAnew(path)
  }
}

function open(path: string): SqliteInvocationLogs {
  makePrivateFile(path)
  return new SqliteInvocationLogs(path)
}

function openAnew(path: string): SqliteInvocationLogs {
  try {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    return open(path)
  } catch (error) {
    throw new StartError(
      `${path} can not be used (${(error as Error).message}); make it a file of this account, or remove it.`,
      EXIT.unwritableData,
    )
  }
}
