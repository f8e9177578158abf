import { join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
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
    throw new SetupError('Say where the documents are: npm run import -- --from-firestore', 2)
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/hosts/cloud/import-cli.ts')]
  if (values['dry-run']) args.push('--dry-run')
  return (await runWithNode(node, args, { env: targetEnvironment(values.project) })).code
})
