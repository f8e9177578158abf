import type { AdmittedDefinition } from '../../../catalog/definitions/admit-definition.ts'
import { howRun } from '../../../catalog/views/how-run.ts'
import { EXIT } from '../start-error.ts'
import { AuthorError } from './author-error.ts'

/** The start of the variables with the values of secrets (`scripts/toolchain/given-secrets.mjs`). */
const PREFIX = 'TOOLRACK_SECRET_'

/** The fewest bytes of a secret, as for a stored one. A shorter value cannot be removed from the output, because it is there by chance. */
const BYTES_MIN = 8

/**
 * The values of the secrets that the tool names, by their names. `given` are the names in the command. Throws an AuthorError if a secret
 * is missing, is not named by the tool, or is too short. No message contains a value.
 */
export function secretsFor(
  { definition }: Pick<AdmittedDefinition, 'definition'>,
  given: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ReadonlyMap<string, string> {
  const tool = definition.function.name
  const run = howRun(definition.runner)
  const named = run.by === 'python' ? run.secrets.map((secret) => secret.replace(/^caller:/, '')) : []
  const foreign = given.find((name) => !named.includes(name))
  if (foreign !== undefined) throw wrong(`${tool} names no secret ${foreign} in its spec, so it gets none.`)
  const missing = named.find((name) => !given.includes(name))
  if (missing !== undefined)
    throw wrong(`${tool} needs the secret ${missing}: add --secret ${missing}, and set ${PREFIX}${missing}.`)
  const values = named.map((name): [string, string] => [name, env[`${PREFIX}${name}`] ?? ''])
  const short = values.find(([, value]) => Buffer.byteLength(value) < BYTES_MIN)
  if (short) throw wrong(`The secret ${short[0]} is too short: a secret has at least ${BYTES_MIN} bytes.`)
  return new Map(values)
}

function wrong(sentence: string): AuthorError {
  return new AuthorError(sentence, EXIT.usage)
}
