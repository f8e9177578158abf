import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const command = {
  name: 'secrets',
  about: `Stores secrets for tools, such as API keys, on the embedded server that runs with the data folder. set asks for the value and does
not show it, or reads it from a pipe. Nobody can read a stored value again. rotate seals all secrets with a new key. consent lets a
module of another layer have your own secrets. The token is the approver token of the data folder. If there are several users, set
TOOLRACK_TOKEN to your own approver token.

  npm run secrets -- set WEATHER_API_KEY
  npm run secrets -- set WEATHER_API_KEY --layer global < key.txt
  npm run secrets -- delete WEATHER_API_KEY
  npm run secrets -- list
  npm run secrets -- rotate
  npm run secrets -- consent global weather sha256:…
  npm run secrets -- revoke global weather
  npm run secrets -- forget`,
  options: {
    layer: {
      takes: 'LAYER',
      about: 'user for your own secrets (the default), global for those of global modules',
      accepts: (text) => ['user', 'global'].includes(text),
      rule: 'user or global',
    },
    data: { takes: 'FOLDER', about: 'the data folder (TOOLRACK_DATA); .toolrack by default' },
  },
  words: {
    is: 'action',
    most: 4,
    oneOf: ['set', 'list', 'delete', 'rotate', 'consent', 'revoke', 'forget'],
    rest: 'name',
  },
}

/** How many words follow each action. */
const words = { set: 1, delete: 1, list: 0, rotate: 0, consent: 3, revoke: 2, forget: 0 }

/** `npm run secrets -- set|list|delete|rotate|consent|revoke|forget [name] [--layer LAYER]` */
await runCommand(() => {
  const { words: given, values } = readArguments(command)
  const [action] = given
  if (!action || given.length !== words[action] + 1)
    throw new SetupError(
      'Say set or delete and the name of a secret, consent or revoke and a module, or list, rotate or forget.\nnpm run secrets -- --help says what there is.',
      usageCode,
    )
  const env = { ...process.env, ...(values.data !== undefined && { TOOLRACK_DATA: values.data }) }
  const args = [...given, ...(values.layer === undefined ? [] : ['--layer', values.layer])]
  const program = action === 'forget' ? 'forget-secrets-cli' : 'secrets-cli'
  return runProgram('runtime', `functions/src/hosts/local/${program}.ts`, args, { cwd: root, env })
})
