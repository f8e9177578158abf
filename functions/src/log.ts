/** The log of the service, for its operator. */
export type Log = {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogFields = { readonly [field: string]: unknown }

/** A log for people: one line per event, such as `warn  message  {"field":…}`. */
export function textLog(stream: { write(line: string): unknown }): Log {
  function line(level: string) {
    return (message: string, fields?: LogFields): void => {
      stream.write(`${level.padEnd(5)} ${message}${fields ? `  ${JSON.stringify(fields)}` : ''}\n`)
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

const SEVERITIES = { info: 'INFO', warn: 'WARNING', error: 'ERROR' } as const

/** A log for machines: one JSON object per event, with the severity that Cloud Logging reads. */
export function jsonLog(stream: { write(line: string): unknown }): Log {
  function line(level: keyof typeof SEVERITIES) {
    return (message: string, fields?: LogFields): void => {
      stream.write(`${JSON.stringify({ ...fields, severity: SEVERITIES[level], message })}\n`)
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
