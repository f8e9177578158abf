import { AuditTrail } from '../../calls/audit/audit-trail.ts'
import type { AuditStore } from '../../calls/audit/audit-store.ts'
import type { Log } from '../../log.ts'
import type { Config } from '../config.ts'
import { auditLogFile } from './audit-log-file.ts'
import { openAuditKey } from './key-files.ts'
import { openAuditFile } from './open-databases.ts'
import { EXIT, StartError } from './start-error.ts'

/**
 * Opens the audit trail of the embedded server. Its records are in `folder`, or in `store` if that is given. Undefined if it is switched
 * off. A file that cannot be used is never replaced, because its records would be lost.
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
