import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { JOB_KEYS_RULE, parseJobKeys } from '../access/job-keys.ts'
import type { JobKeys } from '../access/job-keys.ts'
import { LOG_BOUNDS } from '../calls/pipeline/invocation-logs.ts'
import type { LogBounds } from '../calls/pipeline/invocation-logs.ts'
import { ENVELOPES } from '../tools/catalog/list-query.ts'
import { STORE_BYTES_MAX } from '../tools/records/layer-totals.ts'
import { choice, list, matching, optional, parsed, readVariables, text, wholeNumber } from './variables.ts'
import type { VariableValues } from './variables.ts'

/** The folder `functions`, seen from this file and from the bundle in `functions/dist`. */
const FUNCTIONS = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url)
const DEFS_DIR = fileURLToPath(new URL('workflows/tools/defs', FUNCTIONS))

/** A path or a query would be lost; in the open the secret and every call would be. */
const RUNNER_URL = /^(?:https:\/\/[^/\s?#@]+|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)\/?$/
const RUNNER_URL_RULE = 'must be https://host, or http:// and an address of this machine, without a path'

const MB = 1024 * 1024

/** Every variable that is read, and how. Not by zod: this is read before anything else, and zod takes 50 ms to load. */
const TABLE = {
  PORT: wholeNumber(8787, 0, 65_535),
  HOST: text('127.0.0.1'),
  TOOLRACK_DATA: text('.toolrack'),
  TOOLRACK_STORE: choice(['sqlite', 'firestore'], 'sqlite'),
  TOOLRACK_STORE_MB: wholeNumber(STORE_BYTES_MAX / MB, 1, 1_000_000),
  TOOLRACK_LOGS_MB: wholeNumber(LOG_BOUNDS.allBytes / MB, 1, 1_000_000),
  TOOLRACK_USER_LOGS_MB: wholeNumber(LOG_BOUNDS.userBytes / MB, 1, 1_000_000),
  TOOLRACK_AUTH: choice(['local', 'firebase'], 'local'),
  TOOLRACK_JOB_ACCOUNTS: list(
    /^[^@\s]+@[^@\s]+$/,
    'must be e-mail addresses of service accounts, separated by commas',
  ),
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
  TOOLRACK_CORS_ORIGINS: list(
    /^https?:\/\/[^/\s,]+$/,
    'must be origins such as https://app.example, separated by commas',
  ),
  RUNNER_URL: matching(RUNNER_URL, RUNNER_URL_RULE),
  RUNNER_SECRET: matching(/^[!-~]+$/, 'must be printable characters without a blank'),
  RUNNER_SERVICE: matching(/^[a-z](?:[a-z0-9-]{0,47}[a-z0-9])?$/, 'must be the name of a Cloud Run service'),
  RUNNER_REGION: matching(/^[a-z]+-[a-z]+\d{1,2}$/, 'must be a region such as us-central1'),
  // The runner's own, which checks them.
  TOOLRACK_RUNNER_SLOTS: optional,
  TOOLRACK_RUNNER_USER_SLOTS: optional,
  TOOLRACK_RUNNER_POOL_MB: optional,
  TOOLRACK_RUNNER_MIN_ISOLATION: optional,
  TOOLRACK_RUNNER_NETWORK_ALLOW: optional,
  // Read by the scripts, before there is a server.
  TOOLRACK_PYTHON: optional,
}

/** The names of every variable that is read. */
export const VARIABLES = Object.keys(TABLE)

export type Config = {
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataFolder: string
  readonly store: 'sqlite' | 'firestore'
  /** What the embedded store may hold, in bytes. */
  readonly storeBytesMax: number
  readonly logBounds: LogBounds
  /** Absolute. */
  readonly definitionsFolder: string
  /** Whether that is the folder that comes with the service. */
  readonly isShippedDefinitions: boolean
  /** The folder of modules, absolute; none where there is no home to look for one in. Whoever has named it wants it to be there. */
  readonly toolsFolder: { readonly path: string; readonly isNamed: boolean } | undefined
  readonly envelope: (typeof ENVELOPES)[number]
  readonly defaultWorkflow: string
  readonly corsOrigins: readonly string[]
  readonly auth: { readonly kind: 'local' } | FirebaseAuth
  /** The keys of job tokens; the first signs, every one verifies. */
  readonly jobKeys: JobKeys | undefined
  readonly runner: {
    /** Of one that runs already; none is started then. */
    readonly address: { readonly url: string; readonly secret: string | undefined } | undefined
    /** One on Cloud Run, whose address has to be looked up; only where there is no address. */
    readonly service:
      { readonly projectId: string; readonly region: string; readonly service: string } | undefined
    /** The settings of one that we start, as its environment. */
    readonly environment: Readonly<Record<string, string>>
  }
}

export type FirebaseAuth = {
  readonly kind: 'firebase'
  readonly projectId: string
  /** Whether users come with the unsigned tokens of the Auth emulator. */
  readonly emulator: boolean
  /** The service accounts that may act as a job, and the audiences that their tokens must be for. */
  readonly jobAccounts: readonly string[]
  readonly jobAudiences: readonly string[]
}

/** A variable has a value that can't be used. The message names each of them; it never repeats a value. */
export class ConfigError extends Error {}

/** Reads the environment once. An empty variable counts as not set. */
export function parseConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
  const read = readVariables(TABLE, set)
  if ('faults' in read) throw new ConfigError(read.faults.join('; '))
  const { values } = read
  refuseEmulators(set)
  return {
    port: values.PORT,
    host: values.HOST,
    dataFolder: resolve(values.TOOLRACK_DATA),
    store: values.TOOLRACK_STORE,
    storeBytesMax: values.TOOLRACK_STORE_MB * MB,
    logBounds: { userBytes: values.TOOLRACK_USER_LOGS_MB * MB, allBytes: values.TOOLRACK_LOGS_MB * MB },
    definitionsFolder: resolve(values.TOOLRACK_DEFS_DIR),
    isShippedDefinitions: resolve(values.TOOLRACK_DEFS_DIR) === DEFS_DIR,
    toolsFolder: toolsFolder(values.TOOLRACK_TOOLS_DIR, set['HOME']),
    envelope: values.LIST_ENVELOPE,
    defaultWorkflow: values.TOOLRACK_DEFAULT_WORKFLOW,
    corsOrigins: values.TOOLRACK_CORS_ORIGINS,
    auth: values.TOOLRACK_AUTH === 'local' ? { kind: 'local' } : firebaseAuth(values),
    jobKeys: values.TOOLRACK_JOB_KEYS,
    runner: {
      address: values.RUNNER_URL ? { url: values.RUNNER_URL, secret: values.RUNNER_SECRET } : undefined,
      service: values.RUNNER_URL ? undefined : runnerService(values),
      environment: runnerSettings(values),
    },
  }
}

function toolsFolder(named: string | undefined, home: string | undefined): Config['toolsFolder'] {
  if (named !== undefined) return { path: resolve(named), isNamed: true }
  return home === undefined ? undefined : { path: join(home, '.toolrack', 'tools'), isNamed: false }
}

const RUNNER_SETTINGS = [
  'TOOLRACK_RUNNER_SLOTS',
  'TOOLRACK_RUNNER_USER_SLOTS',
  'TOOLRACK_RUNNER_POOL_MB',
  'TOOLRACK_RUNNER_MIN_ISOLATION',
  'TOOLRACK_RUNNER_NETWORK_ALLOW',
] as const

function runnerSettings(values: VariableValues<typeof TABLE>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    RUNNER_SETTINGS.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  )
}

function runnerService(values: VariableValues<typeof TABLE>): Config['runner']['service'] {
  const { RUNNER_SERVICE: service, RUNNER_REGION: region } = values
  if (service === undefined) return undefined
  const projectId = projectIdOf(values)
  if (region === undefined) throw new ConfigError('RUNNER_REGION must be set where RUNNER_SERVICE is')
  if (projectId === undefined)
    throw new ConfigError('GOOGLE_CLOUD_PROJECT must be set to the project id where RUNNER_SERVICE is')
  return { projectId, region, service }
}

/** With an emulator's address set, tokens need no signature and data go elsewhere: production does not start. */
function refuseEmulators(set: NodeJS.ProcessEnv): void {
  const emulators = Object.keys(set).filter((name) => name.endsWith('_EMULATOR_HOST'))
  if (isProduction(set) && emulators.length > 0)
    throw new ConfigError(`${emulators.join(' and ')} must not be set in production`)
}

function firebaseAuth(values: VariableValues<typeof TABLE>): FirebaseAuth {
  const projectId = projectIdOf(values)
  if (projectId === undefined)
    throw new ConfigError('GOOGLE_CLOUD_PROJECT must be set to the project id when TOOLRACK_AUTH is firebase')
  return {
    kind: 'firebase',
    projectId,
    emulator: values.FIREBASE_AUTH_EMULATOR_HOST !== undefined,
    jobAccounts: values.TOOLRACK_JOB_ACCOUNTS,
    jobAudiences: values.TOOLRACK_JOB_AUDIENCES,
  }
}

function projectIdOf(values: VariableValues<typeof TABLE>): string | undefined {
  return values.GOOGLE_CLOUD_PROJECT ?? values.GCLOUD_PROJECT
}

/** Whether this is a deployed service: on Cloud Run or Cloud Functions, and not in the emulator. */
export function isProduction(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['K_SERVICE'] ?? '') !== '' && env['FUNCTIONS_EMULATOR'] !== 'true'
}

/** Variables that look like ours and are not known: mistyped, or of another version. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith('TOOLRACK_') && !VARIABLES.includes(name))
}
