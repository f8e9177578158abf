import { readArguments } from './toolchain/arguments.mjs'
import { prepare } from './toolchain/checkout.mjs'
import { checks, runPrograms } from './toolchain/checks.mjs'
import { exitCodeOf, quiet } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { jestPackageSuites, namePythonTests, pythonPackageSuites, pythonSuites } from './toolchain/suites.mjs'
import { runJest, runPytest, sideBySide } from './toolchain/suites.mjs'
import { testReport } from './toolchain/test-report.mjs'

/** The npm command for each option with which package.json calls this script. */
const called = { '--all': 'test:all', '--packages': 'test:packages' }

const command = {
  name: called[process.argv[2]] ?? 'test',
  about: `Runs the checks, then every suite that repeats nothing. npm run test:all adds the suites that repeat and sample, and
npm run test:packages runs those that need a package index; CI runs both. With other arguments it runs only jest with these
arguments, or pytest if a path is below test/python-runner. After another -- every option of jest or pytest is passed on unread.`,
  options: {
    all: { about: 'also the suites that repeat and sample' },
    packages: { about: 'only the suites that install packages from an index' },
    testNamePattern: { short: 't', takes: 'PATTERN', about: 'jest: only the tests with such a name' },
    runInBand: { short: 'i', about: 'jest: one suite after the other' },
    maxWorkers: { short: 'w', takes: 'N', about: 'jest: how many suites at the same time' },
    selectProjects: { takes: 'NAME', repeats: true, about: 'jest: service or firebase' },
    bail: { short: 'b', about: 'jest: stop after the first failure' },
    onlyFailures: { short: 'f', about: 'jest: only what failed the last time' },
    verbose: { about: 'jest: the name of each test' },
    watch: { about: 'jest: again after each change' },
    coverage: { about: 'jest: which lines were run' },
    k: { short: 'k', takes: 'EXPRESSION', about: 'pytest: only the tests with such a name' },
    x: { short: 'x', about: 'pytest: stop after the first failure' },
    v: { short: 'v', about: 'pytest: the name of each test' },
    q: { short: 'q', about: 'pytest: print less' },
    s: { short: 's', about: 'pytest: show what the tests print' },
    durations: { takes: 'N', about: 'pytest: the slowest tests' },
  },
  words: { is: 'path', most: Infinity },
}

/**
 * `npm test`: runs the checks and the suites. With other arguments it runs only jest with these arguments, or only pytest if they
 * name Python tests.
 */
await runCommand(async () => {
  const ci = process.env.CI === 'true'
  const { values } = readArguments(command)
  const given = process.argv.slice(2).filter((arg) => !Object.hasOwn(called, arg))
  const args = given.filter((arg, index) => arg !== '--' || given.indexOf('--') !== index)
  const node = await prepare('full')
  const { python, missing } = await preparePython('full')

  const wantsAll = args.length === 0 && !values.packages
  const isQuick = wantsAll && !values.all
  const wantsPython = wantsAll || values.packages === true || namePythonTests(args)
  // The checks and both suites run side by side, because the suites wait most of their time. Jest prints directly. The
  // output of pytest is printed when all have ended.
  const suites = []
  if (wantsAll || !wantsPython) suites.push(runJest(node, args, { ci, isQuick, isWhole: wantsAll }))
  // Other arguments of test:packages are for pytest.
  if (values.packages && args.length === 0) suites.push(runJest(node, jestPackageSuites, { ci }))
  if (wantsPython && python)
    suites.push(runPytest(python, pythonArguments(), wantsAll ? { ...quiet, isQuick } : {}))
  const [checked, ...runs] = await Promise.all([
    wantsAll ? runPrograms(checks, node, python) : { failed: [] },
    ...suites,
  ])
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
  const interruptedBy = [checked, ...runs]
    .map((run) => run.interruptedBy)
    .find((signal) => signal !== undefined)
  return interruptedBy ? exitCodeOf(interruptedBy) : report.code

  function pythonArguments() {
    if (values.packages) return [...pythonPackageSuites, ...args]
    return wantsAll ? [...sideBySide, ...pythonSuites({ isQuick })] : args
  }
})
