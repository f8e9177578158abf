import { join, resolve } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { projectOption, targetEnvironment } from './toolchain/target-project.mjs'

const command = {
  name: 'seed',
  about: `Writes the definition files of a folder into the global layer of the running emulators, or of a project. Without a
folder it writes the definitions that come with the service.`,
  options: { project: projectOption },
  words: { is: 'folder', most: 1 },
}

/**
 * `npm run seed -- [folder] [--project id]`: writes the definition files of a folder into the global layer of the running
 * emulators, or of a project. For a project it uses the credentials on this machine.
 */
await runCommand(async () => {
  const { words, values } = readArguments(command)
  const [folder = join(root, 'functions/workflows/tools/defs')] = words
  const options = { cwd: root, env: targetEnvironment(values.project) }
  return runProgram('runtime', 'functions/src/hosts/cloud/seed-cli.ts', [resolve(folder)], options)
})
