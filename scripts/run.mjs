import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

/** `node scripts/run.mjs full|runtime <file> …`: installs the packages of this mode, then runs the file on the pinned Node. */
await runCommand(async () => {
  const [mode, file, ...args] = process.argv.slice(2)
  const node = await prepare(mode)
  return (await runWithNode(node, [join(root, file), ...args], { cwd: process.cwd() })).code
})
