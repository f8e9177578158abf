#!/usr/bin/env node
import { prepare, preparePython } from './toolchain/checkout.mjs'
import { exitCodeOf } from './toolchain/child.mjs'
import { runChecks } from './toolchain/checks.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run check`: lint, types and format in both languages, and the lock files. */
await runCommand(async () => {
  const node = await prepare('full')
  const python = await preparePython('full')
  const { failed, interruptedBy } = await runChecks(node, python)
  if (interruptedBy) return exitCodeOf(interruptedBy)
  if (python.missing) process.stdout.write(`The Python code was not checked: ${python.missing}\n`)
  process.stdout.write(failed.length > 0 ? `Failed: ${failed.join(', ')}\n` : 'All checks passed\n')
  return failed.length > 0 || (python.missing && process.env.CI === 'true') ? 1 : 0
})
