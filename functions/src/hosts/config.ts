import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { JOB_KEYS_RULE, parseJobKeys } from '../access/job-keys.ts'
import { LOG_BOUNDS } from '../calls/pipeline/invocation-logs.ts'
import { ENVELOPES } from '../tools/catalog/list-query.ts'
import type { Log } from '../log.ts'
import { STORE_BYTES_MAX } from '../tools/records/layer-totals.ts'
import { ConfigError, readVariables, type VariableValues } from './variables.ts'
import { choice, list, matching, optional, parsed, text, wholeNumber } from './variables.ts'

/** The folder `functions`, as seen from this file and from the bundle in `functions/dist`. */
const FUNCTIONS = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url)
const DEFS_DIR = fileURLToPath(new URL('workflows/tools/defs', FUNCTIONS))

/** No path or query: they would be ignored. Plain HTTP only on this machine: others on a network could read the secret. */
const RUNNER_URL = /^(?:https:\/\/[^/\s?#@]+|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)\/?$/
const ACCOUNTS_RULE = 'must be e-mail addresses of service accounts, separated by commas'
const ORIGINS_RULE = 'must be origins such as https://app.example, separated by commas'
const RUNNER_URL_RULE = 'must be https://host, or http:// and an address of this machine, without a path'

const MB = 1024 * 1024

/** Settings that are passed to the runner, which checks them. */
const RUNNER_SETTINGS = {
  TOOLRACK_RUNNER_SLOTS: optional,
  TOOLRACK_RUNNER_USER_SLOTS: optional,
  TOOLRACK_RUNNER_POOL_MB: optional,
  TOOLRACK_RUNNER_MIN_ISOLATION: optional,
  TOOLRACK_RUNNER_NETWORK_ALLOW: optional,
}

/** How each variable is read. zod is not used, because it would take 50 ms of every start. */
const TABLE = {
  PORT: wholeNumber(8787, 0, 65_535),
  HOST: text('127.0.0.1'),
  TOOLRACK_DATA: text('.toolrack'),
  TOOLRACK_STORE: choice(['sqlite', 'firestore'], 'sqlite'),
  TOOLRACK_STORE_MB: wholeNumber(STORE_BYTES_MAX / MB, 1, 1_000_000),
  TOOLRACK_LOGS_MB: wholeNumber(LOG_BOUNDS.allBytes / MB, 1, 1_000_000),
  TOOLRACK_USER_LOGS_MB: wholeNumber(LOG_BOUNDS.userBytes / MB, 1, 1_000_000),
  TOOLRACK_AUTH: choice(['local', 'firebase'], 'local'),
  TOOLRACK_JOB_ACCOUNTS: list(/^[^@\s]+@[^@\s]+$/, ACCOUNTS_RULE),
  TOOLRACK_JOB_AUDIENCES: list(),
  TOOLRACK_JOB_KEYS: parsed(parseJobKeys, JOB_KEYS_RULE),
  GOOGLE_CLOUD_PROJECT: optional,
  GCLOUD_PROJECT: optional,
  FIREBASE_AUTH_EMULATOR_HOST: optional,
  FUNCTIONS_EMULATOR: optional,
  K_SERVICE: optional,
  TOOLRACK_DEFS_DIR: text(DEFS_DIR),
  TOOLRACK_TOOLS_DIR: optional,
  LIST_ENVELOPE: choice(ENVELOPES, 'array'),
  TOOLRACK_DEFAULT_WORKFLOW: text('tools-CliTools', 256),
  TOOLRACK_INVOKE_WORKFLOW: matching(/^.{1,256}$/s, 'must have at most 256 characters'),
  TOOLRACK_CORS_ORIGINS: list(/^https?:\/\/[^/\s,]+$/, ORIGINS_RULE),
  RUNNER_URL: matching(RUNNER_URL, RUNNER_URL_RULE),
  RUNNER_SECRET: matching(/^[!-~]+$/, 'must be printable characters without a blank'),
  RUNNER_SERVICE: matching(/^[a-z](?:[a-z0-9-]{0,47}[a-z0-9])?$/, 'must be the name of a Cloud Run service'),
  RUNNER_REGION: matching(/^[a-z]+-[a-z]+\d{1,2}$/, 'must be a region such as us-central1'),
  ...RUNNER_SETTINGS,
  // Read by the scripts that start the server.
  TOOLRACK_PYTHON: optional,
}

export const VARIABLES = Object.keys(TABLE)

export type FirebaseAuth = ReturnType<typeof firebaseAuth>

export type Config = ReturnType<typeof parseConfig>

/** Reads the environment. An empty variable is the same as one that is not set. */
export function parseConfig(env: NodeJS.ProcessEnv = process.env) {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  const values = readVariables(TABLE, set)
  refuseEmulators(set)
  const { RUNNER_URL: url, TOOLRACK_DEFS_DIR: definitionsFolder } = values
  const settings = Object.entries(set).filter(([name]) => Object.hasOwn(RUNNER_SETTINGS, name))
  return {
    port: values.PORT,
    host: values.HOST,
    dataFolder: resolve(values.TOOLRACK_DATA),
    store: values.TOOLRACK_STORE,
    storeBytesMax: values.TOOLRACK_STORE_MB * MB,
    logBounds: { userBytes: values.TOOLRACK_USER_LOGS_MB * MB, allBytes: values.TOOLRACK_LOGS_MB * MB },
    definitionsFolder: resolve(definitionsFolder),
    /** True if `definitionsFolder` is the folder that comes with the service. */
    isShippedDefinitions: resolve(definitionsFolder) === DEFS_DIR,
    toolsFolder: toolsFolder(values.TOOLRACK_TOOLS_DIR, set['HOME']),
    envelope: values.LIST_ENVELOPE,
    defaultWorkflow: values.TOOLRACK_DEFAULT_WORKFLOW,
    invokeWorkflow: values.TOOLRACK_INVOKE_WORKFLOW,
    corsOrigins: values.TOOLRACK_CORS_ORIGINS,
    auth: values.TOOLRACK_AUTH === 'local' ? ({ kind: 'local' } as const) : firebaseAuth(values),
    jobKeys: values.TOOLRACK_JOB_KEYS,
    runner: {
      /** The address of a runner that already runs. If there is one, this server starts none. */
      address: url ? { url, secret: values.RUNNER_SECRET } : undefined,
      /** A runner on Cloud Run, whose address has to be looked up. Functions in the emulator never look for a real one. */
      service: url || values.FUNCTIONS_EMULATOR === 'true' ? undefined : runnerService(values),
      /** The settings of a runner that this server starts, as its environment. */
      environment: Object.fromEntries(settings) as Readonly<Record<string, string>>,
    },
  }
}

/** The folder of modules, by default `.toolrack/tools` in the home folder. Only a folder that the variable names must exist. */
function toolsFolder(named: string | undefined, home: string | undefined) {
  if (named !== undefined) return { path: resolve(named), isNamed: true }
  return home === undefined ? undefined : { path: join(home, '.toolrack', 'tools'), isNamed: false }
}

function runnerService(values: VariableValues<typeof TABLE>) {
  const { RUNNER_SERVICE: service, RUNNER_REGION: region } = values
  if (service === undefined) return undefined
  if (region === undefined) throw new ConfigError('RUNNER_REGION must be set if RUNNER_SERVICE is set')
  return { projectId: projectIdOf(values, 'if RUNNER_SERVICE is set'), region, service }
}

/** Throws if production would use an emulator, with which tokens need no signature and data is stored elsewhere. */
function refuseEmulators(set: NodeJS.ProcessEnv): void {
  const emulators = Object.keys(set).filter((name) => name.endsWith('_EMULATOR_HOST'))
  if (isProduction(set) && emulators.length > 0)
    throw new ConfigError(`${emulators.join(' and ')} must not be set in production`)
}

function firebaseAuth(values: VariableValues<typeof TABLE>) {
  return {
    kind: 'firebase' as const,
    projectId: projectIdOf(values, 'if TOOLRACK_AUTH is firebase'),
    /** True if users send the unsigned tokens of the Auth emulator. */
    emulator: values.FIREBASE_AUTH_EMULATOR_HOST !== undefined,
    /** The service accounts that may act as a job. */
    jobAccounts: values.TOOLRACK_JOB_ACCOUNTS,
    /** The audiences that the tokens of these accounts may have. */
    jobAudiences: values.TOOLRACK_JOB_AUDIENCES,
  }
}

function projectIdOf(values: VariableValues<typeof TABLE>, when: string): string {
  const projectId = values.GOOGLE_CLOUD_PROJECT ?? values.GCLOUD_PROJECT
  if (projectId !== undefined) return projectId
  throw new ConfigError(`GOOGLE_CLOUD_PROJECT must be set to the project id ${when}`)
}

/** True for a deployed service: on Cloud Run or Cloud Functions, and not in the emulator. */
export function isProduction(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['K_SERVICE'] ?? '') !== '' && env['FUNCTIONS_EMULATOR'] !== 'true'
}

/** Logs the variables that begin with `TOOLRACK_` and are not known: they are mistyped, or of another version. */
export function warnOfUnknownVariables(log: Log): void {
  for (const name of Object.keys(process.env))
    if (name.startsWith('TOOLRACK_') && !VARIABLES.includes(name))
      log.warn('environment variable is not known and has no effect', { name })
}
