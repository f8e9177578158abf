#!/usr/bin/env node
import { prepare } from './toolchain/checkout.mjs'
import { exitCodeOf } from './toolchain/child.mjs'
import { runChecks } from './toolchain/checks.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run check`: lint, types, format and the lock files. */
await runCommand(async () => {
  const { failed, interruptedBy } = await runChecks(await prepare('full'))
  if (interruptedBy) return exitCodeOf(interruptedBy)
  process.stdout.write(failed.length > 0 ? `Failed: ${failed.join(', ')}\n` : 'All checks passed\n')
  return failed.length > 0 ? 1 : 0
})
