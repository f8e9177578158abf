import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AuditTrail } from '../../calls/audit/audit-trail.ts'
import type { AuditStore } from '../../calls/audit/audit-store.ts'
import { newAuditKey, parseAuditKey, type AuditKey } from '../../calls/audit/manifest.ts'
import { SqliteAuditStore } from '../../stores/sqlite/sqlite-audit-store.ts'
import type { Log } from '../../log.ts'
import type { Config } from '../config.ts'
import { auditLogFile } from './audit-log-file.ts'
import { makePrivateFile } from './private-files.ts'
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
  const file = logPath === undefined ? undefined : usable(logPath, () => auditLogFile(logPath, log))
  return new AuditTrail({
    store: store ?? openFile(join(folder ?? '', 'audit.sqlite')),
    mode,
    days,
    log,
    key: key ?? (folder === undefined ? undefined : openKey(join(folder, 'audit-key.json'))),
    copy: file && ((lines) => file.copy(lines)),
  })
}

function openFile(path: string): SqliteAuditStore {
  return usable(path, () => {
    makePrivateFile(path)
    return new SqliteAuditStore(path)
  })
}

/** Reads the key that signs the manifests, or makes it at the first start. Only this account can read the file. */
function openKey(path: string): AuditKey {
  const key = parseAuditKey(usable(path, () => keyText(path)))
  if (key) return key
  throw new StartError(
    `${path} does not hold a key; correct it, or remove it for a new key.`,
    EXIT.damagedData,
  )
}

function keyText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const text = newAuditKey()
  writeFileSync(path, text, { mode: 0o600 })
  return text
}

function usable<Opened>(path: string, open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    const reason = (error as Error).message.replace(/\.$/, '')
    throw new StartError(
      `${path} cannot be used for the audit trail: ${reason}; correct this, or set TOOLRACK_AUDIT=off.`,
      EXIT.unwritableData,
    )
  }
}
