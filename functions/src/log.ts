/** The log of the service, which its operator reads. */
export type Log = Record<'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>

/** The fields of an event. A line for machines has `message` and `severity` already. */
export type LogFields = {
  readonly [field: string]: unknown
  readonly message?: never
  readonly severity?: never
}

/** A log for people, with one line for each event, such as `warn  message  {"field":…}`. */
export function textLog(stream: { write(line: string): unknown }): Log {
  return logOf((level, message, fields) =>
    stream.write(
      `${harmless(`${level.padEnd(5)} ${message}${fields ? `  ${JSON.stringify(fields)}` : ''}`)}\n`,
    ),
  )
}

/**
 * Replaces each dangerous character by an escape such as `\u001b`. These characters could control a terminal, begin a new line,
 * change the order of the text, or be invisible. Tools and callers choose parts of the texts that the operator reads.
 */
export function harmless(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

const SEVERITIES = { info: 'INFO', warn: 'WARNING', error: 'ERROR' } as const

/** A log for machines, with one JSON object for each event. `severity` is what Cloud Logging reads. */
export function jsonLog(stream: { write(line: string): unknown }): Log {
  return logOf((level, message, fields) =>
    stream.write(`${JSON.stringify({ ...fields, severity: SEVERITIES[level], message })}\n`),
  )
}

/** Makes a log that passes all its events to one function. */
export function logOf(write: (level: keyof Log, message: string, fields?: LogFields) => unknown): Log {
  const line = (level: keyof Log) => (message: string, fields?: LogFields) =>
    void write(level, message, fields)
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
