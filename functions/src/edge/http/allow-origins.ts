import cors from 'cors'
import { METHODS } from './route.ts'
import type { TableRow } from './route.ts'

/** Lets pages of these origins ask: with the methods that some route has, and the headers that the API's contract names. */
export function allowOrigins(origins: readonly string[], table: readonly TableRow[]) {
  const known = new Set(table.map(({ method }) => method))
  return cors({
    origin: [...origins],
    methods: METHODS.filter((method) => known.has(method)),
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'If-Match',
      'If-None-Match',
      'Idempotency-Key',
      'X-Project-Id',
      'traceparent',
      'Last-Event-ID',
    ],
    exposedHeaders: [
      'ETag',
      'Link',
      'Retry-After',
      'Idempotent-Replay',
      'X-Tools-Revision',
      'X-Tools-Layers',
      'X-Tools-Unknown',
      'X-Tools-Quarantined',
    ],
    maxAge: 3600,
  })
}
