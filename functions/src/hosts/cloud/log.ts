import type { Log, LogFields } from '../../log.ts'

/** Logs one JSON object per event, with the severity for Cloud Logging. The package is loaded with the first event. */
export const cloudLog: Log = { info: lines('info'), warn: lines('warn'), error: lines('error') }

function lines(level: keyof Log) {
  return (message: string, fields: LogFields = {}): void => {
    void import('firebase-functions/logger').then((logger) => logger[level](message, fields))
  }
}
