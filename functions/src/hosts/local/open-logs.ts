import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import { SqliteInvocationLogs } from '../../stores/sqlite/sqlite-invocation-logs.ts'
import { makePrivateFile } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/** Opens what calls have printed. A file that can not be read, or that another version has made, is no loss worth a stop: it is made anew. */
export function openLogs(folder: string, bounds: LogBounds): SqliteInvocationLogs {
  const path = join(folder, 'invocations.db')
  try {
    return open(path, bounds)
  } catch {
    return openAnew(path, bounds)
  }
}

function open(path: string, bounds: LogBounds): SqliteInvocationLogs {
  makePrivateFile(path)
  return new SqliteInvocationLogs(path, { bounds })
}

function openAnew(path: string, bounds: LogBounds): SqliteInvocationLogs {
  try {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true })
    return open(path, bounds)
  } catch (error) {
    throw new StartError(
      `${path} can not be used (${(error as Error).message}); make it a file of this account, or remove it.`,
      EXIT.unwritableData,
    )
  }
}
