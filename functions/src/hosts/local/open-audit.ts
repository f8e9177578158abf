import { join } from 'node:path'
import { AuditTrail } from '../../features/audit/audit-trail.ts'
import type { AuditStore } from '../../features/audit/audit-store.ts'
import type { Log } from '../../log.ts'
import type { Config } from '../config.ts'
import { auditLogFile } from './audit-log-file.ts'
import { openAuditKey } from './key-files.ts'
import { openAuditFile } from './open-databases.ts'
import { RUNNING_CALLS, RunningCallsFile } from './running-calls-file.ts'
import { EXIT, reasonOf, StartError } from './start-error.ts'

/**
 * Opens the audit trail of the embedded server. Its records are in `store`, if it is given, otherwise in `folder`. Undefined if
 * the trail is switched off. A file that cannot be used is never replaced, because its records would be lost.
 */
export function openAudit(
  { mode, days, key, logPath }: Config['audit'],
  log: Log,
  { folder, store }: { readonly folder?: string; readonly store?: AuditStore },
): AuditTrail | undefined {
  if (mode === 'off') return undefined
  const file = logPath === undefined ? undefined : openLogFile(logPath, log)
  return new AuditTrail({
    store: store ?? openAuditFile(folder ?? ''),
    mode,
    days,
    log,
    key: key ?? (folder === undefined ? undefined : openAuditKey(folder)),
    running: folder === undefined ? undefined : openRunningCalls(folder, log),
    copy: file && ((lines) => file.copy(lines)),
  })
}

function openLogFile(path: string, log: Log) {
  try {
    return auditLogFile(path, log)
  } catch (error) {
    throw new StartError(
      `${path} cannot be used for the audit trail: ${(error as Error).message.replace(/\.$/, '')}; correct this, or set TOOLRACK_AUDIT=off.`,
      EXIT.unwritableData,
    )
  }
}

function openRunningCalls(folder: string, log: Log): RunningCallsFile {
  const path = join(folder, RUNNING_CALLS)
  try {
    return new RunningCallsFile(path, log)
  } catch (error) {
    throw new StartError(
      `${path} cannot be used (${reasonOf(error)}). It has the calls that ran when the server was killed. Make it a file of this account, or remove it: then those calls have no record.`,
      EXIT.unwritableData,
    )
  }
}
