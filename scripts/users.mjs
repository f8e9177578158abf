import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const command = {
  name: 'users',
  about: `Gives several users of one machine access to npm start. add and renew print two tokens once: one for programs and models,
and one that also decides approvals, accepts grants, and writes rules and secrets. With the first user, the single user's printed
token ends.

  npm run users -- add ada
  npm run users -- list`,
  options: {
    admin: { about: 'with add: the user may write the global layer and the rules for everybody' },
    data: { takes: 'FOLDER', about: 'the data folder (TOOLRACK_DATA); .toolrack by default' },
  },
  words: { is: 'action', most: 2, oneOf: ['add', 'remove', 'renew', 'list'], rest: 'user' },
}

/** `npm run users -- add|remove|renew|list [name] [--admin]` */
await runCommand(() => {
  const { words, values } = readArguments(command)
  const [action, user] = words
  if (!action || (action !== 'list' && !user))
    throw new SetupError(
      'Say add, remove or renew and the name of the user, or list.\nnpm run users -- --help says what there is.',
      usageCode,
    )
  const env = { ...process.env, ...(values.data !== undefined && { TOOLRACK_DATA: values.data }) }
  const args = [action, user ?? '', ...(values.admin ? ['--admin'] : [])]
  return runProgram('runtime', 'functions/src/hosts/local/users-cli.ts', args, { cwd: root, env })
})
