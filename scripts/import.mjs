import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'
import { projectOption, targetEnvironment } from './toolchain/target-project.mjs'

const command = {
  name: 'import',
  about: `Writes the documents of the original service as definitions, in the running emulators or in a project. The exit code
is 1 if a document cannot be read. The other documents are written all the same.`,
  options: {
    'from-firestore': {
      about: 'reads tools/defs/items, and the tools of every user below users/{uid}/tools',
    },
    project: projectOption,
    'dry-run': { about: 'says what would be written, and writes nothing' },
  },
}

/** `npm run import -- --from-firestore [--project id] [--dry-run]` */
await runCommand(async () => {
  const { values } = readArguments(command)
  if (!values['from-firestore'])
    throw new SetupError('Say where the documents are: npm run import -- --from-firestore', usageCode)
  const args = values['dry-run'] ? ['--dry-run'] : []
  const options = { cwd: root, env: targetEnvironment(values.project) }
  return runProgram('runtime', 'functions/src/hosts/cloud/import-cli.ts', args, options)
})
