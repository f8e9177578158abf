import { onRequest, type HttpsFunction } from 'firebase-functions/https'
import { setGlobalOptions } from 'firebase-functions/options'
import { defineSecret, defineString } from 'firebase-functions/params'
import type { Handler } from './hosts/cloud/serving.ts'

/**
 * The parameters of a deployment. The service gets them as environment variables of the same names, which `hosts/config.ts` reads
 * and checks. `functions/.env` has the default values, so that a deployment never stops to ask for one.
 */
defineString('LIST_ENVELOPE', {
  default: 'array',
  description: 'The envelope of a list whose query names none: array or items.',
})
defineString('TOOLRACK_DEFAULT_WORKFLOW', {
  default: 'tools-CliTools',
  description: 'The workflowName of items whose runner names none.',
})
defineString('TOOLRACK_CORS_ORIGINS', {
  default: '',
  description: 'Origins that a browser may call from, separated by commas.',
})
defineString('TOOLRACK_JOB_ACCOUNTS', {
  default: '',
  description: 'Service accounts that may act as a job, separated by commas.',
})
defineString('TOOLRACK_JOB_AUDIENCES', {
  default: '',
  description: 'Audiences that their tokens may be for, separated by commas.',
})
defineString('RUNNER_SERVICE', {
  default: 'toolrack-runner',
  description: 'The Cloud Run service that runs Python tools; empty for none.',
})
defineString('RUNNER_REGION', { default: 'us-central1', description: 'The region of that service.' })

const jobKeys = defineSecret('TOOLRACK_JOB_KEYS', {
  description: 'The JSON Web Key Set that signs job tokens.',
})

/** The options of both functions. They must be set before the first function is declared. */
setGlobalOptions({
  region: 'us-central1',
  // Public, because the functions check tokens themselves. With a private invoker, the platform would remove the signature of a
  // token.
  invoker: 'public',
  memory: '512MiB',
  cpu: 1,
  concurrency: 80,
  maxInstances: 20,
  timeoutSeconds: 60,
  secrets: [jobKeys],
})

/**
 * Declares a function. `cors` is false, because the app checks origins itself, and the emulator would otherwise allow every
 * origin.
 */
export function declare(handler: Handler): HttpsFunction {
  return onRequest({ cors: false }, handler)
}
