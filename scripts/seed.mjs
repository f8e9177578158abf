import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { targetEnvironment } from './toolchain/target-project.mjs'

/**
 * `npm run seed -- [folder] [--project id]`: writes the definition files of a folder into the global layer of the running
 * emulators, or of a project. For a project it uses the credentials on this machine.
 */
await runCommand(async () => {
  const options = { project: { type: 'string' } }
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const [folder = join(root, 'functions/workflows/tools/defs')] = positionals
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/hosts/cloud/seed-cli.ts'), resolve(folder)]
  return (await runWithNode(node, args, { env: targetEnvironment(values.project) })).code
})
