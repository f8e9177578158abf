import { randomInt } from 'node:crypto'
import { delimiter, join } from 'node:path'
import { readArguments, usageCode } from './arguments.mjs'
import { SetupError } from './setup-error.mjs'
import { pythonTests } from './suites.mjs'

/** The program of each kind of attack: a Python module or a TypeScript file. */
const programs = {
  syscalls: { module: 'fuzz.syscalls', tries: 'every system call that the jail allows, from inside it' },
  messages: { module: 'fuzz.messages', tries: 'what a child writes on its channel to the runner' },
  routes: { file: 'test/fuzz/routes.ts', tries: 'requests to the routes of the service' },
  schemas: { file: 'test/fuzz/schemas.ts', tries: 'JSON Schemas and arguments for them' },
}
const kinds = Object.keys(programs)

const command = {
  name: 'fuzz',
  about: `Random attacks of every kind, or of the named ones. The exit code is 1 if something was found.

${kinds.map((kind) => `  ${kind.padEnd(12)}${programs[kind].tries}`).join('\n')}`,
  options: {
    seconds: {
      takes: 'N',
      about: 'how long each kind runs; 60 by default',
      rule: 'a number above 0',
      accepts: (text) => Number(text) > 0,
    },
    seed: {
      takes: 'S',
      about: 'the whole number that the random cases are made from; random by default, and printed',
      rule: 'a whole number from 0',
      accepts: (text) => /^\d{1,15}$/.test(text),
    },
    case: { takes: 'JSON', about: 'one case of one kind, as a finding prints it' },
  },
  words: { is: 'kind', most: Infinity, oneOf: kinds },
}

/** @typedef {{ seconds: string, seed: string, case?: string }} Options */

/**
 * The kinds to run, in order, and the options of each program. Throws a SetupError if the arguments are wrong.
 * @param {readonly string[]} args
 * @returns {{ kinds: string[], options: Options }}
 */
export function fuzzPlan(args) {
  const { values, words } = readArguments(command, args)
  const { seconds = '60', seed = String(randomInt(2 ** 32)), case: json } = values
  if (json !== undefined && words.length !== 1)
    throw new SetupError('--case belongs to one kind: name it.', usageCode)
  return {
    kinds: words.length > 0 ? [...new Set(words)] : kinds,
    options: { seconds, seed, ...(json !== undefined && { case: json }) },
  }
}

/**
 * The program of a kind, and how to start it.
 * @param {string} root
 * @param {string} kind
 * @param {Options} options
 * @returns {{ isPython: boolean, args: string[], cwd: string, env?: NodeJS.ProcessEnv }}
 */
export function fuzzProgram(root, kind, options) {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const { module, file } = programs[kind]
  if (file !== undefined) return { isPython: false, args: [join(root, file), ...flags], cwd: root }
  const cwd = join(root, pythonTests)
  // The import paths are the same as under pytest: the packages of the runner and of the tests.
  const env = { PYTHONPATH: [cwd, join(root, 'python-runner')].join(delimiter) }
  return { isPython: true, args: ['-P', '-m', module, ...flags], cwd, env }
}
