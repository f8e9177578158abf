import type { JsonValue } from '@toolrack/contract'
import { logOf, type Log } from '../log.ts'
import { redact, redactText } from './redact.ts'

/** A log that removes recognized secrets from its messages and fields. */
export function redactedLog(log: Log): Log {
  return logOf((level, message, fields) => {
    const safe = fields && (redact(fields as { [field: string]: JsonValue }) as typeof fields)
    log[level](redactText(message), safe)
  })
}
