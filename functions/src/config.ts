import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ENVELOPES } from './catalog/list-query.ts'

const DEFS_DIR = fileURLToPath(new URL('../workflows/tools/defs', import.meta.url))

const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s,]+$/, 'must be origins such as https://app.example, separated by commas')

const environment = z.object({
  PORT: z.coerce.number('must be a number').int('must be a whole number').min(0).max(65_535).default(8787),
  HOST: z.string().min(1).default('127.0.0.1'),
  TOOLRACK_DATA: z.string().min(1).default('.toolrack'),
  TOOLRACK_STORE: z
    .enum(['sqlite'], 'must be sqlite; no other store is available in this version')
    .default('sqlite'),
  TOOLRACK_AUTH: z
    .enum(['local'], 'must be local; no other kind of token is available in this version')
    .default('local'),
  TOOLRACK_DEFS_DIR: z.string().min(1).default(DEFS_DIR),
  LIST_ENVELOPE: z.enum(ENVELOPES, 'must be array or items').default('array'),
  TOOLRACK_DEFAULT_WORKFLOW: z.string().min(1).max(256).default('tools-CliTools'),
  TOOLRACK_CORS_ORIGINS: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()])))
    .pipe(z.array(origin)),
})

/** The names of every variable that is read. */
export const VARIABLES = Object.keys(environment.shape)

export type Config = {
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataFolder: string
  /** Absolute. */
  readonly definitionsFolder: string
  readonly envelope: (typeof ENVELOPES)[number]
  readonly defaultWorkflow: string
  readonly corsOrigins: readonly string[]
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
  return {
    port: data.PORT,
    host: data.HOST,
    dataFolder: resolve(data.TOOLRACK_DATA),
    definitionsFolder: resolve(data.TOOLRACK_DEFS_DIR),
    envelope: data.LIST_ENVELOPE,
    defaultWorkflow: data.TOOLRACK_DEFAULT_WORKFLOW,
    corsOrigins: data.TOOLRACK_CORS_ORIGINS,
  }
}

/** Variables that look like ours and are not known: mistyped, or of another version. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith('TOOLRACK_') && !VARIABLES.includes(name))
}
