import { logOf } from '../../log.ts'

/** Logs one JSON object per event, with the severity for Cloud Logging. The package is loaded with the first event. */
export const cloudLog = logOf((level, message, fields = {}) =>
  import('firebase-functions/logger').then((logger) => logger[level](message, fields)),
)
