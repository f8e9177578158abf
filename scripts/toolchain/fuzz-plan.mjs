import { randomInt } from 'node:crypto'
import { delimiter, join } from 'node:path'
import { pythonTests } from './python-checks.mjs'
import { SetupFailure } from './setup-failure.mjs'

/** Each kind of case, and the module or file that is its program. */
const programs = {
  syscalls: { module: 'fuzz.syscalls', tries: 'every system call that the jail allows, from inside it' },
  messages: { module: 'fuzz.messages', tries: 'what a child writes on its channel to the runner' },
  routes: { file: 'test/fuzz/routes.ts', tries: 'requests to the routes of the service' },
  schemas: { file: 'test/fuzz/schemas.ts', tries: 'JSON Schemas and arguments for them' },
}
const kinds = Object.keys(programs)

export const fuzzHelp = `npm run fuzz -- [kind …] [--seconds N] [--seed S] [--case JSON]

${kinds.map((kind) => `  ${kind.padEnd(12)}${programs[kind].tries}`).join('\n')}

  --seconds N   how long each kind runs (60 unless said)
  --seed S      what random cases come from: a whole number (random unless said, and printed)
  --case JSON   one case of one kind, as a finding prints it
`

/** What arguments ask for: the kinds in their order, and what each program is told. A SetupFailure says what is wrong. */
export function fuzzPlan(args) {
  const asked = []
  const options = { seconds: '60', seed: String(randomInt(2 ** 32)) }
  const rest = [...args]
  while (rest.length > 0) {
    const word = rest.shift()
    if (word === '--help') return { isHelp: true }
    if (kinds.includes(word)) asked.push(word)
    else if (/^--(?:seconds|seed|case)$/.test(word)) options[word.slice(2)] = rest.shift() ?? ''
    else throw refused(`${word} is neither a kind nor an option.`)
  }
  if (!(Number(options.seconds) > 0)) throw refused('--seconds takes a number above 0.')
  if (!/^\d{1,15}$/.test(options.seed)) throw refused('--seed takes a whole number from 0.')
  if (options.case !== undefined && asked.length !== 1) throw refused('--case belongs to one kind: name it.')
  return { kinds: asked.length > 0 ? [...new Set(asked)] : kinds, options }
}

/** How the program of a kind is started. */
export function fuzzProgram(root, kind, options) {
  const told = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const { module, file } = programs[kind]
  if (file !== undefined) return { isPython: false, args: [join(root, file), ...told], cwd: root }
  const cwd = join(root, pythonTests)
  // As pytest has it: the runner's packages and those of the tests.
  const env = { PYTHONPATH: [cwd, join(root, 'python-runner')].join(delimiter) }
  return { isPython: true, args: ['-P', '-m', module, ...told], cwd, env }
}

function refused(what) {
  return new SetupFailure(`${what}\n\n${fuzzHelp}`, 64)
}
