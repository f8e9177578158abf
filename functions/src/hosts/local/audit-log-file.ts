import { closeSync, fchmodSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs'
import type { Log } from '../../log.ts'

/**
 * Appends the lines of the audit trail to a file that only the account of the server can read. If lines cannot be written, this
 * fault is logged only once.
 */
export function auditLogFile(path: string, log: Pick<Log, 'error'>) {
  const file = openSync(path, 'a+', 0o600)
  if (process.platform !== 'win32') fchmodSync(file, 0o600)
  // A full disk or a power cut can leave an incomplete line. A line feed then ends it, so that it does not damage the next line.
  let isCut = endsInLine(file)
  let isFailing = false
  return {
    copy(lines: readonly string[]): void {
      try {
        // If the disk took only a part, `writeFileSync` also writes the rest, and throws if it cannot. `writeSync` does neither.
        writeFileSync(file, `${isCut ? '\n' : ''}${lines.join('\n')}\n`)
        isFailing = false
        isCut = false
      } catch (error) {
        if (!isFailing)
          log.error('the audit log file cannot be written', { path, reason: (error as Error).message })
        isFailing = true
        isCut = true
      }
    },
    close: () => closeSync(file),
  }
}

/** True if the last line of the file has no line feed. */
function endsInLine(file: number): boolean {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== LINE_FEED
}

const LINE_FEED = 0x0a
