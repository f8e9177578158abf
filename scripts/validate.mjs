#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run validate -- <files>`: says whether tool definition files would be accepted. */
await runCommand(async () => {
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/hosts/local/validate-cli.ts'), ...process.argv.slice(2)]
  return (await runWithNode(node, args)).code
})
