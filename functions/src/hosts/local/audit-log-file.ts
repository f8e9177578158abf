import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs'
import type { Log } from '../../log.ts'

/** Appends the lines of the audit trail to a file that only this account can read. A line that cannot be written is logged once. */
export function auditLogFile(path: string, log: Pick<Log, 'error'>) {
  const file = openSync(path, 'a', 0o600)
  if (process.platform !== 'win32') fchmodSync(file, 0o600)
  let isFailing = false
  return {
    copy(lines: readonly string[]): void {
      try {
        writeSync(file, `${lines.join('\n')}\n`)
        isFailing = false
      } catch (error) {
        if (!isFailing)
          log.error('the audit log file cannot be written', { path, reason: (error as Error).message })
        isFailing = true
      }
    },
    close: () => closeSync(file),
  }
}
