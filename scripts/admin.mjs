import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'
import { projectOption, targetEnvironment } from './toolchain/target-project.mjs'

const command = {
  name: 'admin',
  about: `Makes a user an admin of the running emulators, or of a project, by the custom claim toolrackAdmin. revoke removes this
claim. The user's other claims stay. The user is named by uid or mail. In a project, grant by mail needs a verified
mail address.`,
  options: { project: projectOption },
  words: { is: 'action', most: 2, oneOf: ['grant', 'revoke'], rest: 'user' },
}

/** `npm run admin -- grant|revoke <uid or mail> [--project id]`: makes a user an admin of the emulators or a project, or no longer. */
await runCommand(async () => {
  const { words, values } = readArguments(command)
  const [action, user] = words
  if (!user) {
    const missing = action
      ? `Name the user to ${action}, by uid or mail.`
      : 'Say grant or revoke, and name the user.'
    throw new SetupError(
      `${missing} Nothing was changed.\nnpm run admin -- --help says what there is.`,
      usageCode,
    )
  }
  const options = { cwd: root, env: targetEnvironment(values.project) }
  return runProgram('runtime', 'functions/src/hosts/cloud/admin-cli.ts', [action, user], options)
})
