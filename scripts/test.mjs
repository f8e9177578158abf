import { prepare } from './toolchain/checkout.mjs'
import { checks, runPrograms } from './toolchain/checks.mjs'
import { exitCodeOf, quiet } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { namePythonTests, runJest, runPytest } from './toolchain/suites.mjs'
import { testReport } from './toolchain/test-report.mjs'

/** `npm test`: the checks and every suite. With arguments it runs only jest with these arguments, or pytest if they name Python tests. */
await runCommand(async () => {
  const ci = process.env.CI === 'true'
  const args = process.argv.slice(2)
  const node = await prepare('full')
  const { python, missing } = await preparePython('full')

  const wantsAll = args.length === 0
  const wantsPython = wantsAll || namePythonTests(args)
  const checked = wantsAll ? await runPrograms(checks, node, python) : { failed: [] }
  if (checked.interruptedBy) return exitCodeOf(checked.interruptedBy)

  const suites = []
  if (wantsAll || !wantsPython) suites.push(runJest(node, args, { ci }))
  // pytest runs at the same time as jest, which prints directly. The output of pytest is printed when both have ended.
  if (wantsPython && python) suites.push(runPytest(python, args, wantsAll ? quiet : {}))
  const runs = await Promise.all(suites)
  for (const { output = '' } of runs) process.stdout.write(output)
  const withoutPython =
    missing && wantsPython ? [`The checks and tests of the Python runner: ${missing}`] : []
  const report = testReport({
    failedChecks: checked.failed,
    suites: runs.map(({ outcome }) => outcome),
    missing: [...new Set([...runs.flatMap((run) => run.missing), ...withoutPython])],
    ci,
  })
  process.stdout.write(`${report.text}\n`)
  const interruptedBy = runs.map((run) => run.interruptedBy).find((signal) => signal !== undefined)
  return interruptedBy ? exitCodeOf(interruptedBy) : report.code
})
