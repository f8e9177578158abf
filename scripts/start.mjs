import { join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { prepare, root } from './toolchain/checkout.mjs'
import { stopSignal } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { servingEnvironment } from './toolchain/serving.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { supervise } from './toolchain/supervise.mjs'

const command = {
  name: 'start',
  about: `Runs the service until Ctrl-C, and starts it again if it dies. Installs the packages that it lacks.
An option has priority over its variable; docs/configuration.md has the other variables.`,
  options: {
    port: {
      takes: 'NUMBER',
      about: 'the port (PORT); 8787 by default, and 0 takes a free one',
      rule: 'a whole number from 0 to 65535',
      accepts: (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535,
    },
    host: { takes: 'ADDRESS', about: 'the address to listen at (HOST); 127.0.0.1 by default' },
    data: { takes: 'FOLDER', about: 'the data folder (TOOLRACK_DATA); .toolrack by default' },
  },
}
const variables = { port: 'PORT', host: 'HOST', data: 'TOOLRACK_DATA' }

/** `npm start`: runs the service, and starts it again if it dies. Without Python, it lists tools but runs no Python tools. */
await runCommand(async () => {
  const { values } = readArguments(command)
  const node = await prepare('runtime')
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [join(root, 'functions/src/local.ts'), '--parent-pipe=3', runner]
  const chosen = Object.entries(values).map(([name, value]) => [variables[name], value])
  const env = { ...process.env, ...Object.fromEntries(chosen), ...servingEnvironment(root) }
  return supervise(node, args, { signal: stopSignal(), env })
})
