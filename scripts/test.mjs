#!/usr/bin/env node
import { prepare } from './toolchain/checkout.mjs'
import { exitCodeOf } from './toolchain/child.mjs'
import { runChecks } from './toolchain/checks.mjs'
import { runJest } from './toolchain/jest.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'
import { testReport } from './toolchain/test-report.mjs'

/** `npm test`: the checks and every suite; with arguments, jest alone with those arguments. */
await runCommand(async () => {
  const ci = process.env.CI === 'true'
  const jestArgs = process.argv.slice(2)
  const node = await prepare('full')

  const checks = jestArgs.length > 0 ? { failed: [] } : await runChecks(node)
  if (checks.interruptedBy) return exitCodeOf(checks.interruptedBy)

  const { code, interruptedBy, jest, missing } = await runJest(node, jestArgs, { ci })
  const report = testReport({ failedChecks: checks.failed, jest, jestCode: code, missing, ci })
  process.stdout.write(`${report.text}\n`)
  return interruptedBy ? exitCodeOf(interruptedBy) : report.code
})
