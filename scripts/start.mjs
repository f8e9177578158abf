import { join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { compileCache, prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { stopSignal } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { servingEnvironment, servingOptions } from './toolchain/serving.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { supervise } from './toolchain/supervise.mjs'

const command = {
  name: 'start',
  about: `Runs the service until Ctrl-C, and starts it again if it dies. Installs the packages that it lacks.
An option has priority over its variable; docs/reference/configuration.md has the other variables.`,
  options: {
    port: {
      takes: 'NUMBER',
      about: 'the port (PORT); 8787 by default, and 0 takes a free one',
      rule: 'a whole number from 0 to 65535',
      accepts: (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535,
    },
    host: { takes: 'ADDRESS', about: 'the address to listen at (HOST); 127.0.0.1 by default' },
    data: { takes: 'FOLDER', about: 'the data folder (TOOLRACK_DATA); .toolrack by default' },
    'print-config': { about: 'prints the settings and where each came from, and does nothing else' },
  },
}
const variables = { port: 'PORT', host: 'HOST', data: 'TOOLRACK_DATA' }

/** `npm start`: runs the service, and starts it again if it dies. Without Python, it lists tools but runs no Python tools. */
await runCommand(async () => {
  const { values } = readArguments(command)
  const node = await prepare('runtime')
  const chosen = Object.entries(variables).filter(([option]) => Object.hasOwn(values, option))
  const options = Object.fromEntries(chosen.map(([option, variable]) => [variable, values[option]]))
  const env = { ...compileCache, ...process.env, ...options, ...servingEnvironment(root) }
  const service = [join(root, 'functions/src/local.ts'), `--chosen=${Object.keys(options).join(',')}`]
  if (values['print-config']) return (await runWithNode(node, [...service, '--print-config'], { env })).code
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [...servingOptions, ...service, '--parent-pipe=3', runner]
  return supervise(node, args, { signal: stopSignal(), env })
})
