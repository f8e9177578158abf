#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run bench`: the benchmarks, which bring their own peers and write their results as JSON. */
await runCommand(async () => {
  const node = await prepare('full')
  const args = [join(root, 'bench/main.ts'), ...process.argv.slice(2)]
  return (await runWithNode(node, args, { cwd: root })).code
})
