#!/usr/bin/env node
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run format`: rewrites every file, or those named, the way `npm run check` wants them. */
await runCommand(async () => {
  const node = await prepare('full')
  const named = process.argv.slice(2)
  const args = ['node_modules/prettier/bin/prettier.cjs', '--write', ...(named.length > 0 ? named : ['.'])]
  return (await runWithNode(node, args, { cwd: root })).code
})
