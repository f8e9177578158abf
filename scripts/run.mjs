import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

/** `node scripts/run.mjs full|runtime <file> …` runs a program of the checkout on the pinned Node, after it has installed these packages. */
await runCommand(async () => {
  const [mode, file, ...args] = process.argv.slice(2)
  const node = await prepare(mode)
  return (await runWithNode(node, [join(root, file), ...args], { cwd: process.cwd() })).code
})
