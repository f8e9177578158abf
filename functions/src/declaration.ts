import './hosts/cloud/options.ts'
import { onRequest } from 'firebase-functions/https'
import type { HttpsFunction } from 'firebase-functions/https'
import type { Handler } from './hosts/cloud/serving.ts'

/** A function as a deployment asks about it. `cors: false`, for the app has its own list, and the emulator would allow everybody. */
export function declare(handler: Handler): HttpsFunction {
  return onRequest({ cors: false }, handler)
}
