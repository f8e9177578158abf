import * as logger from 'firebase-functions/logger'
import type { Log } from '../log.ts'

/** A log for machines: one JSON object an event, with the severity that Cloud Logging reads. */
export const cloudLog: Log = {
  info: (message, fields) => logger.info(message, fields ?? {}),
  warn: (message, fields) => logger.warn(message, fields ?? {}),
  error: (message, fields) => logger.error(message, fields ?? {}),
}
