import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { usageCode } from './arguments.mjs'
import { SetupError } from './setup-error.mjs'

/** The start of the variables that hold secrets for `npm run tool -- call`. */
export const secretPrefix = 'TOOLRACK_SECRET_'

/** The rule for the name of a secret, as in a spec (`child/module/spec_fields.py`). */
export const secretName = /^[A-Z_][A-Z0-9_]{0,127}$/

/**
 * The variables with the values of these secrets. A secret whose variable is not set is read from the terminal, which does not show it.
 * No argument of a program contains a value, because everybody on the machine can read the arguments.
 * @param {readonly string[]} names
 * @returns {Promise<Record<string, string>>}
 */
export async function secretVariables(names, env = process.env, terminal = process.stdin) {
  const variables = {}
  for (const name of new Set(names)) {
    const variable = `${secretPrefix}${name}`
    const value = env[variable] ?? (terminal.isTTY ? await hiddenLine(`${name}: `, terminal) : undefined)
    if (value === undefined || value === '')
      throw new SetupError(
        `The secret ${name} has no value: set ${variable}, or run this in a terminal, which asks for the value.`,
        usageCode,
      )
    variables[variable] = value
  }
  return variables
}

/** Reads a line from the terminal without showing it. */
export function hiddenLine(question, terminal = process.stdin, shown = process.stderr) {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: terminal, output: nowhere, terminal: true, historySize: 0 })
  // The question comes after the interface, which has the terminal stop showing what is typed.
  shown.write(question)
  return new Promise((resolve) => {
    let line
    lines.once('line', (text) => {
      line = text
      lines.close()
    })
    // Ctrl-C and Ctrl-D close the interface too, without a line.
    lines.once('SIGINT', () => lines.close())
    lines.once('close', () => {
      shown.write('\n')
      resolve(line)
    })
  })
}
