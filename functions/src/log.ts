/** The log of the service, for its operator. */
export type Log = Record<'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>

/** The fields of an event. A line for machines has `message` and `severity` already. */
export type LogFields = {
  readonly [field: string]: unknown
  readonly message?: never
  readonly severity?: never
}

/** A log for people: one line per event, such as `warn  message  {"field":…}`. */
export function textLog(stream: { write(line: string): unknown }): Log {
  return logOf((level, message, fields) =>
    stream.write(
      `${harmless(`${level.padEnd(5)} ${message}${fields ? `  ${JSON.stringify(fields)}` : ''}`)}\n`,
    ),
  )
}

/**
 * The text with an escape such as `\u001b` in place of each dangerous character. Dangerous characters could act on a terminal,
 * begin a line, change the order of the text or be invisible. Tools and callers choose parts of the texts that the operator
 * reads.
 */
export function harmless(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

const SEVERITIES = { info: 'INFO', warn: 'WARNING', error: 'ERROR' } as const

/** A log for machines: one JSON object per event, with the severity that Cloud Logging reads. */
export function jsonLog(stream: { write(line: string): unknown }): Log {
  return logOf((level, message, fields) =>
    stream.write(`${JSON.stringify({ ...fields, severity: SEVERITIES[level], message })}\n`),
  )
}

/** A log whose events all go to one function. */
export function logOf(write: (level: keyof Log, message: string, fields?: LogFields) => unknown): Log {
  const line = (level: keyof Log) => (message: string, fields?: LogFields) =>
    void write(level, message, fields)
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
