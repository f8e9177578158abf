import { join } from 'node:path'
import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { newModule } from './toolchain/new-module.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

/** The most words of one command: far more than any tool has arguments. */
const wordsMax = 500

/** The most bytes of a request. Linux starts no program with an argument of more than 128 KiB. */
const requestBytesMax = 130_000

/** The rule for the name of a secret, as in a spec (`child/module/spec_fields.py`). */
const secretName = /^[A-Z_][A-Z0-9_]{0,127}$/

const command = {
  name: 'tool',
  about: `Helps to write a Python module, without a server.

  npm run tool -- new weather.py
      writes a module with an example, and tests/test_weather.py. Installs nothing
  npm run tool -- new tables.py --packages pandas
      writes a module whose head asks for packages
  npm run tool -- check weather.py
      says what an upload would say: the same check in the same sandbox. Installs the packages that the module asks for
  npm run tool -- call weather.py get_report location=Bern days=3
      runs one tool of the file in the sandbox. The name of the tool may be left out if the file has only one

A value is read as the type that the tool's parameters state: text stays text, everything else is JSON.
key:=JSON is always JSON, and key=@FILE is what the file holds, in base64 for an argument of bytes. An argument with
"format": "artifact" gets a copy of the file.
--secret NAME gives the tool a secret: the value of the variable TOOLRACK_SECRET_NAME, or what you type when the terminal asks for it.
The exit code is 0 if all is well, 1 if the module or the call failed, and 2 if the command is not one of these.`,
  options: {
    arguments: { takes: 'JSON', about: 'call: all arguments, as one JSON object' },
    context: { takes: 'JSON', about: 'call: what the caller tells the handler, as a JSON object' },
    timeout: {
      takes: 'SECONDS',
      about: 'call: the seconds that the call may take, instead of those of its spec',
      rule: 'a number of seconds above 0, and at most 3600',
      accepts: (text) => /^\d{1,4}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0 && Number(text) <= 3_600,
    },
    secret: {
      takes: 'NAME',
      repeats: true,
      about: 'call: a secret that the tool names. There may be several',
      rule: 'the name of a secret: capital letters, digits and _, such as API_KEY',
      accepts: (text) => secretName.test(text),
    },
    save: { takes: 'FOLDER', about: 'call: writes the images and files of the result into this folder' },
    packages: {
      takes: 'NAMES',
      about: 'new: the packages that the module asks for, with commas between them',
    },
    json: { about: 'check and call: prints the answer of the API' },
  },
  words: { is: 'action', most: wordsMax, oneOf: ['check', 'call', 'new'], rest: 'file, tool or key=value' },
}

const onlyFor = {
  arguments: ['call'],
  context: ['call'],
  timeout: ['call'],
  secret: ['call'],
  save: ['call'],
  packages: ['new'],
  json: ['check', 'call'],
}

/** A comma between two packages. Within `pandas[excel,html]>=2,<3` there is none. */
const betweenPackages = /,(?=\s*\w)(?![^[]*\])/

/** `npm run tool -- check|call|new <file>`: checks, calls or writes a Python module without a server. */
await runCommand(async () => {
  const { words, values } = readArguments(command)
  const { secret: secrets = [], packages, ...others } = values
  const [action, file, ...rest] = words
  if (!action) throw wrong('Say check, call or new, and name the file.')
  if (!file) throw wrong(`Name the file to ${action}, such as weather.py.`)
  if (action !== 'call' && rest.length > 0)
    throw wrong(`${action} takes one file. There is no argument '${rest[0]}'.`)
  for (const option of Object.keys(values))
    if (!onlyFor[option].includes(action)) throw wrong(`${action} has no option '--${option}'.`)
  // npm runs its scripts in the checkout. INIT_CWD is the folder in which the user called npm.
  const cwd = process.env.INIT_CWD || process.cwd()
  if (action === 'new') {
    process.stdout.write(`${newModule(root, cwd, file, packages?.split(betweenPackages)).join('\n')}\n`)
    return 0
  }
  const request = JSON.stringify({ action, file, words: rest, secrets, ...others })
  if (Buffer.byteLength(request) > requestBytesMax)
    throw wrong(
      'The arguments are too long for a command. Put a long value into a file, and write key=@FILE.',
    )
  const { python, missing } = await preparePython('runtime')
  const args = [python ? `--python=${python}` : `--no-python=${missing}`, `--request=${request}`]
  return runProgram('runtime', 'functions/src/hosts/local/author/tool-cli.ts', args, {
    cwd,
    // Packages that a check has installed are there for the server of this checkout too. The folder of the author stays as it is.
    env: { ...process.env, TOOLRACK_DATA: process.env.TOOLRACK_DATA || join(root, '.toolrack') },
  })
})

function wrong(sentence) {
  return new SetupError(`${sentence}\nnpm run tool -- --help says what there is.`, usageCode)
}
