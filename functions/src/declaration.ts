import { onRequest, type HttpsFunction } from 'firebase-functions/https'
import { setGlobalOptions } from 'firebase-functions/options'
import { defineSecret, defineString } from 'firebase-functions/params'
import type { Handler } from './hosts/cloud/serving.ts'

/**
 * The parameters of a deployment. The service gets them as environment variables of the same names, which `hosts/config.ts` reads
 * and checks. `functions/.env` has their default values, so that a deployment never stops to ask for a value.
 */
export const PARAMETERS = {
  LIST_ENVELOPE: ['array', 'The envelope of a list whose query names none: array or items.'],
  LIST_ITEM_NAMES: [
    'canonical',
    'The names of items: canonical, or alias for names that every vendor takes.',
  ],
  TOOLRACK_DEFAULT_WORKFLOW: ['tools-CliTools', 'The workflowName of items whose runner names none.'],
  TOOLRACK_INVOKE_WORKFLOW: ['', 'The workflowName of items that the service runs; empty to leave them out.'],
  TOOLRACK_CORS_ORIGINS: ['', 'Origins that a browser may call from, separated by commas.'],
  TOOLRACK_JOB_ACCOUNTS: ['', 'Service accounts that may act as a job, separated by commas.'],
  TOOLRACK_JOB_AUDIENCES: ['', 'Audiences that their tokens may be for, separated by commas.'],
  TOOLRACK_CONFIG: ['', 'A JSON file of settings, relative to the folder of the functions.'],
  TOOLRACK_DEFS_DIR: ['', 'A folder of definition files, relative to the folder of the functions.'],
  TOOLRACK_AGENTS_DIR: ['', 'A folder of agents in files, relative to the folder of the functions.'],
  TOOLRACK_RULES_FILE: ['', 'A file of rules for everybody, relative to the folder of the functions.'],
  TOOLRACK_GRANTS: ['', 'Which grants of modules need no consent: ask (none), packages, or accept (all).'],
  TOOLRACK_AUDIT: ['', 'The audit trail: on, required or off.'],
  TOOLRACK_AUDIT_DAYS: ['', 'The whole days for which its records are kept.'],
  TOOLRACK_AUDIT_KEY: ['', 'The private key that signs its manifests; without it none are signed.'],
  TOOLRACK_SECRETS_KEY: ['', 'The keys that seal stored secrets of tools; without them none are stored.'],
  TOOLRACK_APPROVALS_WEBHOOK: ['', 'The address that is told about new approvals.'],
  TOOLRACK_APPROVALS_WEBHOOK_SECRET: ['', 'The secret that signs these messages.'],
  TOOLRACK_ARTIFACTS_BUCKET: ['', 'The bucket for artifacts; without it none are kept.'],
  TOOLRACK_LOGS_MB: ['', 'The most MB of the logs of all calls.'],
  TOOLRACK_USER_LOGS_MB: ['', 'The most MB of the logs of one user.'],
  TOOLRACK_CALL_TIMEOUT_SECONDS: ['', 'The deadline of a call whose definition has none.'],
  TOOLRACK_CALL_MEMORY_MB: ['', 'The memory of a call whose definition has no limit.'],
  TOOLRACK_USER_CALLS_PER_MINUTE: ['', 'The calls that each user may make a minute; 0 for any number.'],
  TOOLRACK_USER_CALLS_AT_ONCE: ['', 'The calls of each user that may run at once; 0 for any number.'],
  RUNNER_SERVICE: ['toolrack-runner', 'The Cloud Run service that runs Python tools; empty for none.'],
  TOOLRACK_REGION: ['us-central1', 'The region of the functions, and of the runner.'],
  RUNNER_REGION: ['', 'The region of the runner, if it is another one.'],
} as const

for (const [name, [value, description]] of Object.entries(PARAMETERS))
  defineString(name, { default: value, description })

/**
 * The secret with the keys that sign job tokens. Every secret that is declared must exist in each project. That is why optional
 * secrets are not declared here, but are parameters.
 */
export const jobKeys = defineSecret('TOOLRACK_JOB_KEYS', {
  description: 'The JSON Web Key Set that signs job tokens.',
})

export const sealingKey = defineSecret('TOOLRACK_SEALING_KEY', {
  description: 'The key, 32 bytes in base64, that seals what is kept of arguments and results.',
})

/**
 * The region of the functions. In the emulator it is always the default, us-central1: the Hosting emulator looks for functions
 * only there, because the rewrites of `firebase.json` name no region. firebase-tools sets the parameters in the environment
 * before it loads this file.
 */
function regionOf({ FUNCTIONS_EMULATOR, TOOLRACK_REGION }: NodeJS.ProcessEnv): string {
  const [usual] = PARAMETERS.TOOLRACK_REGION
  return FUNCTIONS_EMULATOR === 'true' ? usual : TOOLRACK_REGION || usual
}

/** The options of both functions. They must be set before the first function is declared. */
setGlobalOptions({
  region: regionOf(process.env),
  // The functions check tokens themselves. With a private invoker, the platform would remove a token's signature.
  invoker: 'public',
  // The memory of the service, together with the processes that check schemas and arguments.
  memory: '1GiB',
  cpu: 1,
  concurrency: 80,
  maxInstances: 20,
  timeoutSeconds: 60,
  secrets: [jobKeys, sealingKey],
})

/** Declares a function. `cors` is false: the app checks origins itself, and the emulator would otherwise allow every origin. */
export function declare(handler: Handler): HttpsFunction {
  return onRequest({ cors: false }, handler)
}
