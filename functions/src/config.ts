import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { JOB_KEYS_RULE, parseJobKeys } from './access/job-keys.ts'
import type { JobKeys } from './access/job-keys.ts'
import { ENVELOPES } from './catalog/list-query.ts'

const DEFS_DIR = fileURLToPath(new URL('../workflows/tools/defs', import.meta.url))

const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s,]+$/, 'must be origins such as https://app.example, separated by commas')

/** Entries separated by commas; blanks are tolerated. */
const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()])))
const account = z
  .string()
  .regex(/^[^@\s]+@[^@\s]+$/, 'must be e-mail addresses of service accounts, separated by commas')
const jobKeys = z.string().transform((text, context): JobKeys => {
  const keys = parseJobKeys(text)
  if (keys) return keys
  context.addIssue(JOB_KEYS_RULE)
  return z.NEVER
})

/** A path or a query would be lost; in the open the secret and every call would be. */
const runnerUrl = z
  .string()
  .regex(
    /^(?:https:\/\/[^/\s?#@]+|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?)\/?$/,
    'must be https://host, or http:// and an address of this machine, without a path',
  )

const environment = z.object({
  PORT: z.coerce.number('must be a number').int('must be a whole number').min(0).max(65_535).default(8787),
  HOST: z.string().min(1).default('127.0.0.1'),
  TOOLRACK_DATA: z.string().min(1).default('.toolrack'),
  TOOLRACK_STORE: z.enum(['sqlite', 'firestore'], 'must be sqlite or firestore').default('sqlite'),
  TOOLRACK_AUTH: z.enum(['local', 'firebase'], 'must be local or firebase').default('local'),
  TOOLRACK_JOB_ACCOUNTS: list.pipe(z.array(account)),
  TOOLRACK_JOB_AUDIENCES: list,
  TOOLRACK_JOB_KEYS: jobKeys.optional(),
  GOOGLE_CLOUD_PROJECT: z.string().optional(),
  GCLOUD_PROJECT: z.string().optional(),
  FIREBASE_AUTH_EMULATOR_HOST: z.string().optional(),
  FUNCTIONS_EMULATOR: z.string().optional(),
  K_SERVICE: z.string().optional(),
  TOOLRACK_DEFS_DIR: z.string().min(1).default(DEFS_DIR),
  LIST_ENVELOPE: z.enum(ENVELOPES, 'must be array or items').default('array'),
  TOOLRACK_DEFAULT_WORKFLOW: z.string().min(1).max(256).default('tools-CliTools'),
  TOOLRACK_CORS_ORIGINS: list.pipe(z.array(origin)),
  RUNNER_URL: runnerUrl.optional(),
  RUNNER_SECRET: z
    .string()
    .regex(/^[!-~]+$/, 'must be printable characters without a blank')
    .optional(),
  // The runner's own, which checks them.
  TOOLRACK_RUNNER_SLOTS: z.string().optional(),
  TOOLRACK_RUNNER_POOL_MB: z.string().optional(),
  TOOLRACK_RUNNER_MIN_ISOLATION: z.string().optional(),
  // Read by the scripts, before there is a server.
  TOOLRACK_PYTHON: z.string().optional(),
})

/** The names of every variable that is read. */
export const VARIABLES = Object.keys(environment.shape)

export type Config = {
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataFolder: string
  readonly store: 'sqlite' | 'firestore'
  /** Absolute. */
  readonly definitionsFolder: string
  /** Whether that is the folder that comes with the service. */
  readonly isShippedDefinitions: boolean
  readonly envelope: (typeof ENVELOPES)[number]
  readonly defaultWorkflow: string
  readonly corsOrigins: readonly string[]
  readonly auth: { readonly kind: 'local' } | FirebaseAuth
  /** The keys of job tokens; the first signs, every one verifies. */
  readonly jobKeys: JobKeys | undefined
  readonly runner: {
    /** Of one that runs already; none is started then. */
    readonly address: { readonly url: string; readonly secret: string | undefined } | undefined
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
  const parsed = environment.safeParse(set)
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`).join('; '),
    )
  }
  const { data } = parsed
  refuseEmulators(set)
  return {
    port: data.PORT,
    host: data.HOST,
    dataFolder: resolve(data.TOOLRACK_DATA),
    store: data.TOOLRACK_STORE,
    definitionsFolder: resolve(data.TOOLRACK_DEFS_DIR),
    isShippedDefinitions: resolve(data.TOOLRACK_DEFS_DIR) === DEFS_DIR,
    envelope: data.LIST_ENVELOPE,
    defaultWorkflow: data.TOOLRACK_DEFAULT_WORKFLOW,
    corsOrigins: data.TOOLRACK_CORS_ORIGINS,
    auth: data.TOOLRACK_AUTH === 'local' ? { kind: 'local' } : firebaseAuth(data),
    jobKeys: data.TOOLRACK_JOB_KEYS,
    runner: {
      address: data.RUNNER_URL ? { url: data.RUNNER_URL, secret: data.RUNNER_SECRET } : undefined,
      environment: runnerSettings(data),
    },
  }
}

const RUNNER_SETTINGS = [
  'TOOLRACK_RUNNER_SLOTS',
  'TOOLRACK_RUNNER_POOL_MB',
  'TOOLRACK_RUNNER_MIN_ISOLATION',
] as const

function runnerSettings(data: z.infer<typeof environment>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    RUNNER_SETTINGS.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])),
  )
}

/** With an emulator's address set, tokens need no signature and data go elsewhere: production does not start. */
function refuseEmulators(set: NodeJS.ProcessEnv): void {
  const emulators = Object.keys(set).filter((name) => name.endsWith('_EMULATOR_HOST'))
  if (isProduction(set) && emulators.length > 0)
    throw new ConfigError(`${emulators.join(' and ')} must not be set in production`)
}

function firebaseAuth(data: z.infer<typeof environment>): FirebaseAuth {
  const projectId = data.GOOGLE_CLOUD_PROJECT ?? data.GCLOUD_PROJECT
  if (projectId === undefined)
    throw new ConfigError('GOOGLE_CLOUD_PROJECT must be set to the project id when TOOLRACK_AUTH is firebase')
  return {
    kind: 'firebase',
    projectId,
    emulator: data.FIREBASE_AUTH_EMULATOR_HOST !== undefined,
    jobAccounts: data.TOOLRACK_JOB_ACCOUNTS,
    jobAudiences: data.TOOLRACK_JOB_AUDIENCES,
  }
}

/** Whether this is a deployed service: on Cloud Run or Cloud Functions, and not in the emulator. */
export function isProduction(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['K_SERVICE'] ?? '') !== '' && env['FUNCTIONS_EMULATOR'] !== 'true'
}

/** Variables that look like ours and are not known: mistyped, or of another version. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith('TOOLRACK_') && !VARIABLES.includes(name))
}
