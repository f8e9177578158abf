import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { JOB_KEYS_RULE, parseJobKeys } from '../access/job-keys.ts'
import { AUDIT_MODES, DAYS_KEPT } from '../features/audit/audit-trail.ts'
import { AUDIT_KEY_RULE, parseAuditKey } from '../features/audit/manifest.ts'
import { parseSealingKey, SEALING_KEY_RULE } from '../calls/sealing.ts'
import { parseSecretKeys, SECRET_KEYS_RULE, SecretKeys } from '../features/secrets/secret-keys.ts'
import { LOG_BOUNDS } from '../calls/invocation-logs.ts'
import { FEATURES } from '../features/index.ts'
import type { WebhookTarget } from '../platform/webhook/approval-webhook.ts'
import type { Log } from '../log.ts'
import { STORE_BYTES_MAX } from '../catalog/definitions/layer-totals.ts'
import { operatorRules } from './settings/operator-rules.ts'
import { DEADLINE_MS } from '../calls/pipeline/run-tool.ts'
import { ISOLATION_LEVELS } from '../catalog/definitions/runner.ts'
import { readConfigFile } from './settings/config-file.ts'
import type { Notice } from './settings/found-settings.ts'
import { packageGlobs } from './settings/package-globs.ts'
import { readableFolder } from './settings/readable-folder.ts'
import { readRalph } from './settings/ralph.ts'
import { unknownVariables } from './settings/unknown-variables.ts'
import { ConfigError, environmentSettings, readVariables } from '../settings/variables.ts'
import type { InForce, Table, VariableValues } from '../settings/variables.ts'
import { choice, inFile, list, matching, notInFile } from '../settings/variables.ts'
import { optional, parsed, text, wholeNumber } from '../settings/variables.ts'

/** The folder `functions`. The path differs between this source file and the bundle in `functions/dist`. */
const FUNCTIONS = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url)
const DEFS_DIR = fileURLToPath(new URL('workflows/tools/defs', FUNCTIONS))
/** The folder of the service's own tools, such as `search_tools`. */
export const OWN_DEFS_DIR = fileURLToPath(new URL('workflows/tools/own', FUNCTIONS))
const AGENTS_DIR = fileURLToPath(new URL('workflows/agents/defs', FUNCTIONS))

/**
 * The address of a runner. It has no path and no query, because they would be ignored. Plain HTTP is only possible on this
 * machine, because others on a network could read the secret.
 */
const RUNNER_URL = /^(?:https:\/\/[^/\s?#@]+|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)\/?$/
const ACCOUNTS_RULE = 'must be e-mail addresses of service accounts, separated by commas'
const ORIGINS_RULE = 'must be origins such as https://app.example, separated by commas'
const RUNNER_URL_RULE = 'must be https://host, or http:// and an address of this machine, without a path'

/**
 * The address of a webhook. Plain HTTP is only possible on this machine, as for the runner. A user name in the address would be a
 * secret that is not signed.
 */
const WEBHOOK_URL =
  /^(?:https:\/\/[^/\s?#@]+|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)(?:[/?][^\s#]*)?$/
const WEBHOOK_URL_RULE = 'must be an https address, or http:// and an address of this machine'
const WEBHOOK_SECRET_RULE = 'must be 16 to 256 printable characters without a blank'

const REGION = /^[a-z]+-[a-z]+\d{1,2}$/
const REGION_RULE = 'must be a region such as us-central1'

/**
 * The name of a bucket that no client of Firebase can reach. Firebase's own buckets have the security rules of Firebase, which may
 * let its clients read and write.
 */
const BUCKET = /^(?!.*\.(?:appspot\.com|firebasestorage\.app)$)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/
const BUCKET_RULE =
  'must be the name of a bucket, and not a bucket of Firebase, whose clients might read it: see docs/how-to/deploy.md'

const MB = 1024 * 1024

const USER_SLOTS_RULE = 'must be all, or a whole number from 1 to 100'
const NETWORKS_RULE = 'must be networks such as 10.1.0.0/16, separated by commas'

/**
 * Settings that are passed on to the runner. The runner has the same defaults, and also checks what this service cannot check.
 */
const RUNNER_SETTINGS = {
  TOOLRACK_RUNNER_SLOTS: wholeNumber(8, 1, 100),
  TOOLRACK_RUNNER_USER_SLOTS: inFile('number or text', matching(/^(?:all|[1-9]\d?|100)$/, USER_SLOTS_RULE)),
  TOOLRACK_RUNNER_POOL_MB: wholeNumber(256, 0, MB),
  TOOLRACK_RUNNER_MIN_ISOLATION: choice(ISOLATION_LEVELS, 'L2'),
  TOOLRACK_RUNNER_NETWORK_ALLOW: list(/^[\da-fA-F.:]+(?:\/\d{1,3})?$/, NETWORKS_RULE),
  TOOLRACK_REUSE: choice(['on', 'off'], 'on'),
  TOOLRACK_PACKAGES: choice(['on', 'off'], 'on'),
  TOOLRACK_PACKAGES_DIR: inFile('path', optional),
  TOOLRACK_PACKAGES_ALLOW: packageGlobs,
  TOOLRACK_PACKAGES_DENY: packageGlobs,
  TOOLRACK_PACKAGES_INDEX: matching(
    /^https?:\/\/[!-~]+$/,
    'must be the address of a simple index of packages',
  ),
  TOOLRACK_PACKAGES_WHEELS: readableFolder,
  TOOLRACK_PACKAGES_MB: wholeNumber(1_024, 1, MB),
  TOOLRACK_PACKAGES_FILES: wholeNumber(30_000, 1, 1_000_000),
  TOOLRACK_PACKAGES_SECONDS: wholeNumber(120, 1, 3_600),
  TOOLRACK_PACKAGES_COUNT: wholeNumber(20, 1, 10_000),
  TOOLRACK_PACKAGES_PRELOAD: list(
    /^\w[\w.-]{0,99}$/,
    'must be none, or names of packages, separated by commas',
  ),
}

function secretKeys(text: string): SecretKeys | undefined {
  const keys = parseSecretKeys(text)
  return keys && new SecretKeys(keys)
}

/** The settings of the runner that are paths. The runner gets them as absolute paths. */
const RUNNER_PATHS = new Set(['TOOLRACK_PACKAGES_DIR', 'TOOLRACK_PACKAGES_WHEELS'])

/** The reasons why a variable cannot be set in the configuration file. */
const OF_PLATFORM = 'the platform or its tools set this environment variable'
const OF_GOOGLE = "Google's libraries read this environment variable themselves"
const OF_DEPLOYMENT = 'a deployment reads it from functions/.env.<project id>'
const BEFORE_FILE = 'it is read from the environment, before the file'

/**
 * Megabytes of memory for a call. A call without its own limit gets `usual`, as in the runner (`wire/zygote_messages.py`). The
 * runner accepts at most `most`.
 */
const MEMORY_MB = { usual: 256, least: 32, most: 4_096 }
/** The longest deadline that the runner accepts, in seconds. */
const TIMEOUT_SECONDS_MAX = 3_600

/** How the value of each variable is read. zod is not used here, because it would add 50 ms to every start. */
export const TABLE = {
  PORT: wholeNumber(8787, 0, 65_535),
  HOST: text('127.0.0.1'),
  TOOLRACK_CONFIG: notInFile(BEFORE_FILE, optional),
  TOOLRACK_DATA: inFile('path', text('.toolrack')),
  TOOLRACK_STORE: choice(['sqlite', 'firestore'], 'sqlite'),
  TOOLRACK_STORE_MB: wholeNumber(STORE_BYTES_MAX / MB, 1, 1_000_000),
  TOOLRACK_ARTIFACTS_BUCKET: matching(BUCKET, BUCKET_RULE),
  TOOLRACK_LOGS_MB: wholeNumber(LOG_BOUNDS.allBytes / MB, 1, 1_000_000),
  TOOLRACK_USER_LOGS_MB: wholeNumber(LOG_BOUNDS.userBytes / MB, 1, 1_000_000),
  TOOLRACK_AUDIT: choice(AUDIT_MODES, 'on'),
  TOOLRACK_AUDIT_DAYS: wholeNumber(DAYS_KEPT, 1, 36_500),
  TOOLRACK_AUDIT_KEY: parsed(parseAuditKey, AUDIT_KEY_RULE),
  TOOLRACK_AUDIT_LOG_PATH: inFile('path', optional),
  TOOLRACK_SEALING_KEY: parsed(parseSealingKey, SEALING_KEY_RULE),
  TOOLRACK_SECRETS_KEY: parsed(secretKeys, SECRET_KEYS_RULE),
  TOOLRACK_AUTH: choice(['local', 'firebase'], 'local'),
  TOOLRACK_JOB_ACCOUNTS: list(/^[^@\s]+@[^@\s]+$/, ACCOUNTS_RULE),
  TOOLRACK_JOB_AUDIENCES: list(),
  TOOLRACK_JOB_KEYS: inFile('object', parsed(parseJobKeys, JOB_KEYS_RULE)),
  GOOGLE_CLOUD_PROJECT: notInFile(OF_GOOGLE, optional),
  GCLOUD_PROJECT: notInFile(OF_GOOGLE, optional),
  FIREBASE_AUTH_EMULATOR_HOST: notInFile(OF_PLATFORM, optional),
  FUNCTIONS_EMULATOR: notInFile(OF_PLATFORM, optional),
  K_SERVICE: notInFile(OF_PLATFORM, optional),
  TOOLRACK_DEFS_DIR: inFile('path', text(DEFS_DIR)),
  TOOLRACK_AGENTS_DIR: inFile('path', text(AGENTS_DIR)),
  TOOLRACK_TOOLS_DIR: inFile('path', optional),
  TOOLRACK_RULES_FILE: inFile('path', operatorRules),
  TOOLRACK_APPROVALS_WEBHOOK: matching(WEBHOOK_URL, WEBHOOK_URL_RULE),
  TOOLRACK_APPROVALS_WEBHOOK_SECRET: matching(/^[!-~]{16,256}$/, WEBHOOK_SECRET_RULE),
  ...FEATURES.settings,
  TOOLRACK_CORS_ORIGINS: list(/^https?:\/\/[^/\s,]+$/, ORIGINS_RULE),
  RUNNER_URL: matching(RUNNER_URL, RUNNER_URL_RULE),
  RUNNER_SECRET: matching(/^[!-~]+$/, 'must be printable characters without a blank'),
  RUNNER_SERVICE: matching(/^[a-z](?:[a-z0-9-]{0,47}[a-z0-9])?$/, 'must be the name of a Cloud Run service'),
  RUNNER_REGION: matching(REGION, REGION_RULE),
  TOOLRACK_REGION: notInFile(OF_DEPLOYMENT, matching(REGION, REGION_RULE)),
  ...RUNNER_SETTINGS,
  TOOLRACK_CALL_TIMEOUT_SECONDS: wholeNumber(DEADLINE_MS / 1_000, 1, TIMEOUT_SECONDS_MAX),
  TOOLRACK_CALL_MEMORY_MB: wholeNumber(MEMORY_MB.usual, MEMORY_MB.least, MEMORY_MB.most),
  // The scripts that start the server read this variable.
  TOOLRACK_PYTHON: notInFile(BEFORE_FILE, optional),
}

export const VARIABLES = Object.keys(TABLE)

export type FirebaseAuth = ReturnType<typeof firebaseAuth>

export type Config = ReturnType<typeof configOf>

/** The settings in the environment and in the files that it names, and all faults in them. */
export type ConfigReport = {
  readonly inForce: ReadonlyMap<string, InForce>
  readonly faults: readonly string[]
  readonly notices: readonly Notice[]
  /** Returns the configuration. Throws a ConfigError with all faults, if there are any. */
  readonly config: () => Config
}

/** Reads the environment, and the files that it names. Throws a ConfigError with all faults. */
export function parseConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return readConfig(env).config()
}

/**
 * Reads the settings. Their sources have this priority: the command line, the environment, the file of TOOLRACK_CONFIG, the
 * variables of Ralph's tools (another program), the defaults. `commandLine` names the variables that `npm start` has set from its
 * options.
 */
export function readConfig(
  env: NodeJS.ProcessEnv = process.env,
  commandLine: readonly string[] = [],
): ConfigReport {
  const ralph = readRalph(TABLE, env)
  const file = readConfigFile(TABLE, env['TOOLRACK_CONFIG'] || undefined)
  const settings = [...ralph.settings, ...file.settings, ...environmentSettings(env, commandLine)]
  const { values, inForce, faults: ofValues } = readVariables(TABLE, settings)
  const set = Object.fromEntries(settings.map(({ name, text: value }) => [name, value]))
  const faults = [...file.faults, ...ralph.faults, ...ofValues, ...faultsTogether(set)]
  return {
    inForce,
    faults,
    notices: [...unknownVariables(VARIABLES, env), ...file.notices, ...ralph.notices],
    config() {
      if (faults.length > 0) throw new ConfigError(...faults)
      return configOf(values, set)
    },
  }
}

function configOf(values: VariableValues<typeof TABLE>, set: NodeJS.ProcessEnv) {
  const { RUNNER_URL: url, TOOLRACK_DEFS_DIR: definitionsFolder } = values
  const settings = Object.entries(set)
    .filter(([name]) => Object.hasOwn(RUNNER_SETTINGS, name))
    .map(([name, value = '']) => [name, RUNNER_PATHS.has(name) ? resolve(value) : value])
  return {
    port: values.PORT,
    host: values.HOST,
    dataFolder: resolve(values.TOOLRACK_DATA),
    store: values.TOOLRACK_STORE,
    storeBytesMax: values.TOOLRACK_STORE_MB * MB,
    /** The bucket for the bytes of artifacts, if the store is Firestore. */
    artifactsBucket: values.TOOLRACK_ARTIFACTS_BUCKET,
    logBounds: { userBytes: values.TOOLRACK_USER_LOGS_MB * MB, allBytes: values.TOOLRACK_LOGS_MB * MB },
    definitionsFolder: resolve(definitionsFolder),
    /** True if `definitionsFolder` is the folder that comes with the service. */
    isShippedDefinitions: resolve(definitionsFolder) === DEFS_DIR,
    /** The folder of agents in files. The folder must exist only if the variable names it. */
    agentsFolder: {
      path: resolve(values.TOOLRACK_AGENTS_DIR),
      isNamed: resolve(values.TOOLRACK_AGENTS_DIR) !== AGENTS_DIR,
    },
    toolsFolders: toolsFolders(values.TOOLRACK_TOOLS_DIR, set['HOME']),
    /** The operator's rules for all users. */
    operatorRules: values.TOOLRACK_RULES_FILE,
    approvalsWebhook: approvalsWebhook(values),
    /** The values of the variables of features. */
    settings: settingsOf(FEATURES.settings, values),
    corsOrigins: values.TOOLRACK_CORS_ORIGINS,
    auth: values.TOOLRACK_AUTH === 'local' ? localAuth(values.TOOLRACK_DATA) : firebaseAuth(values),
    jobKeys: values.TOOLRACK_JOB_KEYS,
    /** The key that encrypts those stored data that may contain secrets. */
    sealing: values.TOOLRACK_SEALING_KEY,
    secretKeys: values.TOOLRACK_SECRETS_KEY,
    /** The limits of a call whose definition has none. */
    callLimits: {
      deadlineMs: values.TOOLRACK_CALL_TIMEOUT_SECONDS * 1_000,
      memoryBytes: values.TOOLRACK_CALL_MEMORY_MB * MB,
    },
    audit: {
      mode: values.TOOLRACK_AUDIT,
      days: values.TOOLRACK_AUDIT_DAYS,
      key: values.TOOLRACK_AUDIT_KEY,
      logPath: values.TOOLRACK_AUDIT_LOG_PATH && resolve(values.TOOLRACK_AUDIT_LOG_PATH),
    },
    runner: {
      /** The address of a runner that is started elsewhere. If it is set, this server starts no runner. */
      address: url ? { url, secret: values.RUNNER_SECRET } : undefined,
      /** A runner on Cloud Run, whose address has to be looked up. */
      service: looksUpRunner(set) ? runnerService(set) : undefined,
      /** The settings of a runner that this server starts. They become its environment. */
      environment: Object.fromEntries(settings) as Readonly<Record<string, string>>,
    },
  }
}

/**
 * The folders of modules. By default there are two in the home folder: the folder of Toolrack, and the folder of a chat
 * application whose tools come from a folder too. A folder must exist only if the variable names it.
 */
function toolsFolders(named: string | undefined, home: string | undefined) {
  if (named !== undefined) return { paths: [resolve(named)], isNamed: true }
  const names = home === undefined ? [] : ['.toolrack', '.copilot-web']
  return { paths: names.map((name) => join(home ?? '', name, 'tools')), isNamed: false }
}

function approvalsWebhook(values: VariableValues<typeof TABLE>): WebhookTarget | undefined {
  const { TOOLRACK_APPROVALS_WEBHOOK: url, TOOLRACK_APPROVALS_WEBHOOK_SECRET: secret } = values
  return url === undefined || secret === undefined ? undefined : { url, secret }
}

/** Selects the values of those variables that are in a table. */
function settingsOf<T extends Table>(table: T, values: VariableValues<T>): VariableValues<T> {
  return Object.fromEntries(
    Object.keys(table).map((name) => [name, values[name]]),
  ) as unknown as VariableValues<T>
}

/** The faults that only a combination of variables has. `set` has the texts of all variables that are set. */
function faultsTogether(set: NodeJS.ProcessEnv): string[] {
  const faults = []
  // In production, emulators are refused, because they accept tokens without a signature and store data elsewhere.
  const emulators = Object.keys(set).filter((name) => name.endsWith('_EMULATOR_HOST'))
  if (isProduction(set) && emulators.length > 0)
    faults.push(`${emulators.join(' and ')} must not be set in production`)
  const looksUp = looksUpRunner(set)
  if (looksUp && set['RUNNER_REGION'] === undefined && set['TOOLRACK_REGION'] === undefined)
    faults.push('TOOLRACK_REGION or RUNNER_REGION must be set if RUNNER_SERVICE is set')
  // A webhook needs a secret. Without it, anybody could send messages to the webhook.
  if (
    set['TOOLRACK_APPROVALS_WEBHOOK'] !== undefined &&
    set['TOOLRACK_APPROVALS_WEBHOOK_SECRET'] === undefined
  )
    faults.push('TOOLRACK_APPROVALS_WEBHOOK_SECRET must be set if TOOLRACK_APPROVALS_WEBHOOK is set')
  if (projectIdOf(set) === undefined) {
    const when = 'GOOGLE_CLOUD_PROJECT must be set to the project id if'
    if (set['TOOLRACK_AUTH'] === 'firebase') faults.push(`${when} TOOLRACK_AUTH is firebase`)
    else if (looksUp) faults.push(`${when} RUNNER_SERVICE is set`)
  }
  return faults
}

/** True if the address of the runner has to be looked up. Functions in the emulator never look up a real runner. */
function looksUpRunner(set: NodeJS.ProcessEnv): boolean {
  const { RUNNER_URL: url, RUNNER_SERVICE: service, FUNCTIONS_EMULATOR: emulated } = set
  return url === undefined && service !== undefined && emulated !== 'true'
}

function runnerService({
  RUNNER_SERVICE: service = '',
  TOOLRACK_REGION: ownRegion = '',
  RUNNER_REGION: region = ownRegion,
  ...values
}: NodeJS.ProcessEnv) {
  return { projectId: projectIdOf(values) ?? '', region, service }
}

/** The authentication of the embedded server: several users if the data folder has a file of users, otherwise one user. */
function localAuth(dataFolder: string) {
  const usersFile = resolve(dataFolder, 'users.json')
  return existsSync(usersFile) ? ({ kind: 'users', usersFile } as const) : ({ kind: 'local' } as const)
}

function firebaseAuth(values: VariableValues<typeof TABLE>) {
  return {
    kind: 'firebase' as const,
    projectId: projectIdOf(values) ?? '',
    /** True if the users' tokens are the unsigned tokens of the Auth emulator. */
    emulator: values.FIREBASE_AUTH_EMULATOR_HOST !== undefined,
    /** The service accounts that may act as jobs. */
    jobAccounts: values.TOOLRACK_JOB_ACCOUNTS,
    /** The audiences that tokens of these service accounts may have. */
    jobAudiences: values.TOOLRACK_JOB_AUDIENCES,
  }
}

type Projects = {
  readonly GOOGLE_CLOUD_PROJECT?: string | undefined
  readonly GCLOUD_PROJECT?: string | undefined
}

function projectIdOf({ GOOGLE_CLOUD_PROJECT, GCLOUD_PROJECT }: Projects): string | undefined {
  return GOOGLE_CLOUD_PROJECT ?? GCLOUD_PROJECT
}

/** True for a deployed service: on Cloud Run or Cloud Functions, and not in the emulator. */
export function isProduction(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['K_SERVICE'] ?? '') !== '' && env['FUNCTIONS_EMULATOR'] !== 'true'
}

/** Logs the notices about the settings for the operator. */
export function logNotices({ notices }: ConfigReport, log: Log): void {
  for (const { message, fields } of notices) log.warn(message, fields)
}
