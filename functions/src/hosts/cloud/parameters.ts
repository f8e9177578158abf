import { defineSecret, defineString } from 'firebase-functions/params'

/**
 * What a deployment asks for. Their values reach the service as environment variables of the same names, which
 * `config.ts` reads and checks; `functions/.env` has the defaults, so that no deployment stops to ask for them.
 */
defineString('LIST_ENVELOPE', {
  default: 'array',
  description: 'The envelope of a list that asks for none: array or items.',
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
defineString('RUNNER_REGION', { default: 'us-central1', description: 'Where that service is.' })

/** The private key set that signs job tokens. */
export const jobKeys = defineSecret('TOOLRACK_JOB_KEYS', {
  description: 'The JSON Web Key Set that signs job tokens.',
})
