import { randomInt } from 'node:crypto'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'
import { SetupError } from './setup-error.mjs'
import { pythonTests } from './suites.mjs'

/** Each kind of attack, and the module or file that is its program. */
const programs = {
  syscalls: { module: 'fuzz.syscalls', tries: 'every system call that the jail allows, from inside it' },
  messages: { module: 'fuzz.messages', tries: 'what a child writes on its channel to the runner' },
  routes: { file: 'test/fuzz/routes.ts', tries: 'requests to the routes of the service' },
  schemas: { file: 'test/fuzz/schemas.ts', tries: 'JSON Schemas and arguments for them' },
}
const kinds = Object.keys(programs)

export const fuzzHelp = `npm run fuzz -- [kind …] [--seconds N] [--seed S] [--case JSON]

${kinds.map((kind) => `  ${kind.padEnd(12)}${programs[kind].tries}`).join('\n')}

  --seconds N   how long each kind runs; 60 by default
  --seed S      the whole number that the random cases are made from; random by default, and printed
  --case JSON   one case of one kind, as a finding prints it
`

/** The kinds to run, in order, and the options of each program. Throws a SetupError if the arguments are wrong. */
export function fuzzPlan(args) {
  const { values, positionals } = parse(args)
  if (values.help) return { isHelp: true }
  const unknown = positionals.find((kind) => !kinds.includes(kind))
  if (unknown !== undefined) throw wrong(`There is no kind ${unknown}.`)
  const { seconds = '60', seed = String(randomInt(2 ** 32)), case: json } = values
  if (!(Number(seconds) > 0)) throw wrong('--seconds takes a number above 0.')
  if (!/^\d{1,15}$/.test(seed)) throw wrong('--seed takes a whole number from 0.')
  if (json !== undefined && positionals.length !== 1) throw wrong('--case belongs to one kind: name it.')
  return {
    kinds: positionals.length > 0 ? [...new Set(positionals)] : kinds,
    options: { seconds, seed, ...(json !== undefined && { case: json }) },
  }
}

/** The program of a kind, and how to start it. */
export function fuzzProgram(root, kind, options) {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const { module, file } = programs[kind]
  if (file !== undefined) return { isPython: false, args: [join(root, file), ...flags], cwd: root }
  const cwd = join(root, pythonTests)
  // The same import paths as under pytest: the runner's packages and those of the tests.
  const env = { PYTHONPATH: [cwd, join(root, 'python-runner')].join(delimiter) }
  return { isPython: true, args: ['-P', '-m', module, ...flags], cwd, env }
}

function parse(args) {
  const text = { type: 'string' }
  const options = { help: { type: 'boolean' }, seconds: text, seed: text, case: text }
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (err) {
    throw wrong(err.message)
  }
}

function wrong(sentence) {
  return new SetupError(`${sentence}\n\n${fuzzHelp}`, 64)
}
