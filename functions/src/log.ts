/** Where the service tells its operator what happened. */
export type Log = {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogFields = { readonly [field: string]: unknown }

/** A log for people: one line an event, `warn  message  {"field":…}`. */
export function textLog(stream: { write(line: string): unknown }): Log {
  function line(level: string) {
    return (message: string, fields?: LogFields): void => {
      stream.write(`${level.padEnd(5)} ${message}${fields ? `  ${JSON.stringify(fields)}` : ''}\n`)
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
