import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const command = {
  name: 'grants',
  about: `Shows what modules ask for: packages, hosts of the network, and secrets. Asks the embedded server that runs with the data folder.
accept prints the grants of a module and accepts them, so that its tools can be called. revoke takes the consent back.
The token is the approver token of the data folder. If there are several users, set TOOLRACK_TOKEN to your own approver token.

  npm run grants -- list
  npm run grants -- show weather
  npm run grants -- accept weather
  npm run grants -- revoke weather --layer global`,
  options: {
    layer: {
      takes: 'LAYER',
      about: 'user, global, or file for a watched folder. By default the layer that has the module',
      accepts: (text) => ['user', 'global', 'file'].includes(text),
      rule: 'user, global or file',
    },
    data: { takes: 'FOLDER', about: 'the data folder (TOOLRACK_DATA); .toolrack by default' },
  },
  words: { is: 'action', most: 2, oneOf: ['list', 'show', 'accept', 'revoke'], rest: 'module' },
}

/** `npm run grants -- list|show|accept|revoke [module] [--layer LAYER]` */
await runCommand(() => {
  const { words, values } = readArguments(command)
  const [action, module] = words
  if (!action || (action === 'list') !== (module === undefined))
    throw new SetupError(
      'Say show, accept or revoke and the name of a module, or list.\nnpm run grants -- --help says what there is.',
      usageCode,
    )
  const env = { ...process.env, ...(values.data !== undefined && { TOOLRACK_DATA: values.data }) }
  const args = [...words, ...(values.layer === undefined ? [] : ['--layer', values.layer])]
  return runProgram('runtime', 'functions/src/hosts/local/grants-cli.ts', args, { cwd: root, env })
})
