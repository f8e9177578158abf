import type { Log, LogFields } from '../../log.ts'

/** A log for machines, loaded with its first line: one JSON object an event, with the severity that Cloud Logging reads. */
export const cloudLog: Log = { info: lines('info'), warn: lines('warn'), error: lines('error') }

function lines(level: keyof Log) {
  return (message: string, fields: LogFields = {}): void => {
    void import('firebase-functions/logger').then((logger) => logger[level](message, fields))
  }
}
