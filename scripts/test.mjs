#!/usr/bin/env node
import { prepare, preparePython } from './toolchain/checkout.mjs'
import { exitCodeOf } from './toolchain/child.mjs'
import { runChecks } from './toolchain/checks.mjs'
import { runJest } from './toolchain/jest.mjs'
import { namePythonTests, runPytest } from './toolchain/pytest.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'
import { testReport } from './toolchain/test-report.mjs'

/**
 * `npm test`: the checks and every suite; with arguments, jest alone with those arguments, or pytest alone where they name
 * Python tests.
 */
await runCommand(async () => {
  const ci = process.env.CI === 'true'
  const args = process.argv.slice(2)
  const node = await prepare('full')
  const python = await preparePython('full')

  const checks = args.length > 0 ? { failed: [] } : await runChecks(node, python)
  if (checks.interruptedBy) return exitCodeOf(checks.interruptedBy)

  // Beside each other: both wait for servers most of the time. What pytest prints comes when jest has ended.
  const runs = await Promise.all(suitesOf(args, { node, python, ci }).map((run) => run()))
  for (const { printed = '' } of runs) process.stdout.write(printed)
  const report = testReport({
    failedChecks: checks.failed,
    suites: runs.map(({ outcome }) => outcome),
    missing: [...new Set(runs.flatMap(({ missing }) => missing).concat(withoutPython(args, python)))],
    ci,
  })
  process.stdout.write(`${report.text}\n`)
  const interruptedBy = runs.map((run) => run.interruptedBy).find((signal) => signal !== undefined)
  return interruptedBy ? exitCodeOf(interruptedBy) : report.code
})

function suitesOf(args, { node, python: { python }, ci }) {
  const pytest = python ? [() => runPytest(python, args, { isBeside: args.length === 0 })] : []
  const jest = () => runJest(node, args, { ci })
  if (namePythonTests(args)) return pytest
  return args.length > 0 ? [jest] : [jest, ...pytest]
}

/** Named once, whatever of it was asked for; other suites of one run do without. */
function withoutPython(args, { missing }) {
  const isAsked = args.length === 0 || namePythonTests(args)
  return missing && isAsked ? [`The checks and tests of the Python runner: ${missing}`] : []
}
