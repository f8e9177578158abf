import type { AdmittedDefinition } from '../../../catalog/definitions/admit-definition.ts'
import { howRun } from '../../../catalog/views/how-run.ts'
import { hiddenLine } from '../hidden-line.ts'
import { EXIT } from '../start-error.ts'
import { AuthorError } from './author-error.ts'

/** The start of the variables with the values of secrets. */
const PREFIX = 'TOOLRACK_SECRET_'

/** The fewest bytes of a secret, as for a stored one. A shorter value cannot be removed from the output, because it is there by chance. */
const BYTES_MIN = 8

/**
 * The values of the secrets with these names. A secret whose variable is not set is read from the terminal, which does not show it.
 * No argument of a program contains a value, because everybody on the machine can read the arguments. Throws an AuthorError.
 */
export async function givenSecrets(
  names: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  terminal = process.stdin,
): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>()
  for (const name of new Set(names)) {
    const value = env[PREFIX + name] ?? (terminal.isTTY ? await asked(name, terminal) : undefined)
    if (!value)
      throw wrong(
        `The secret ${name} has no value: set ${PREFIX}${name}, or run this in a terminal, which asks for the value.`,
      )
    values.set(name, value)
  }
  return values
}

async function asked(name: string, terminal: typeof process.stdin): Promise<string | undefined> {
  try {
    return await hiddenLine(terminal, () => process.stderr.write(`${name}: `))
  } finally {
    process.stderr.write('\n')
  }
}

/**
 * The values of the secrets that the tool names, by their names. `given` are the secrets of the command. Throws an AuthorError if a
 * secret is missing, is not named by the tool, or is too short. No message contains a value.
 */
export function secretsFor(
  { definition }: Pick<AdmittedDefinition, 'definition'>,
  given: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const tool = definition.function.name
  const run = howRun(definition.runner)
  const named = run.by === 'python' ? run.secrets.map((secret) => secret.replace(/^caller:/, '')) : []
  const foreign = [...given.keys()].find((name) => !named.includes(name))
  if (foreign !== undefined) throw wrong(`${tool} names no secret ${foreign} in its spec, so it gets none.`)
  const missing = named.find((name) => !given.has(name))
  if (missing !== undefined)
    throw wrong(`${tool} needs the secret ${missing}: add --secret ${missing}, and set ${PREFIX}${missing}.`)
  for (const [name, value] of given)
    if (Buffer.byteLength(value) < BYTES_MIN)
      throw wrong(`The secret ${name} is too short: a secret has at least ${BYTES_MIN} bytes.`)
  return given
}

function wrong(sentence: string): AuthorError {
  return new AuthorError(sentence, EXIT.usage)
}
