/**
 * @typedef {{
 *   passed: number,
 *   failed: number,
 *   leftOut: number,
 *   faults: readonly { count: number, line: string }[],
 * }} SuiteOutcome
 */

/**
 * Makes the outcome of jest from its JSON and its exit code. The JSON is undefined if jest did not finish.
 * @param {{
 *   numPassedTests: number,
 *   numFailedTests: number,
 *   numPendingTests: number,
 *   numTodoTests: number,
 *   numRuntimeErrorTestSuites: number,
 * } | undefined} result
 * @param {number} code
 * @returns {SuiteOutcome}
 */
export function jestOutcome(result, code) {
  if (result === undefined) return unfinished('jest')
  const { numFailedTests: failed, numRuntimeErrorTestSuites: broken } = result
  const leftOut = result.numPendingTests + result.numTodoTests
  const fault = { count: broken, line: `${broken} test files could not be run.` }
  return outcome('jest', code, { passed: result.numPassedTests, failed, leftOut, fault })
}

/**
 * Makes the outcome of pytest from its JUnit XML and its exit code. The XML is '' if pytest did not finish.
 * @param {string} xml
 * @param {number} code
 * @returns {SuiteOutcome}
 */
export function pytestOutcome(xml, code) {
  const [counts] = /<testsuite [^>]*>/.exec(xml) ?? []
  if (counts === undefined) return unfinished('pytest')
  const count = (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(counts)?.[1] ?? Number.NaN)
  const [tests, failed, errors, leftOut] = ['tests', 'failures', 'errors', 'skipped'].map(count)
  const fault = { count: errors, line: `${errors} Python tests could not be run.` }
  return outcome('pytest', code, { passed: tests - failed - errors - leftOut, failed, leftOut, fault })
}

/** If no test failed, an exit code other than 0 is a fault: no test was found, or an error came after the last test. */
function outcome(name, code, { fault, ...counts }) {
  if (fault.count > 0) return { ...counts, faults: [fault] }
  const isExplained = code === 0 || counts.failed > 0
  return { ...counts, faults: isExplained ? [] : [{ count: 1, line: `${name} ended with code ${code}.` }] }
}

function unfinished(name) {
  return { passed: 0, failed: 0, leftOut: 0, faults: [{ count: 1, line: `${name} did not finish.` }] }
}

/**
 * The last lines of `npm test`, and its exit code. `suites` are the outcomes of jest and pytest. `missing` are sentences
 * about the suites that this machine cannot run. With `ci`, skipped tests and missing suites count as failures.
 * @param {{
 *   failedChecks?: readonly string[],
 *   suites?: readonly SuiteOutcome[],
 *   missing?: readonly string[],
 *   ci?: boolean,
 * }} run
 */
export function testReport({ failedChecks = [], suites = [], missing = [], ci = false }) {
  const sum = (name) => suites.reduce((total, suite) => total + suite[name], 0)
  const leftOut = sum('leftOut')
  const faults = [
    ...failedChecks.map((name) => ({ count: 1, line: `The ${name} check failed.` })),
    ...suites.flatMap((suite) => suite.faults),
  ]
  if (ci && leftOut > 0)
    faults.push({ count: leftOut, line: `${leftOut} skipped tests fail because CI=true.` })

  const failed = faults.reduce((total, { count }) => total + count, sum('failed') + (ci ? missing.length : 0))
  const skipped = ci || leftOut === 0 ? '' : `, ${leftOut} skipped`
  return {
    code: failed > 0 ? 1 : 0,
    text: [
      ...faults.map(({ line }) => line),
      ...missingBlock(missing, ci),
      `${sum('passed')} passed, ${failed} failed${skipped}`,
    ].join('\n'),
  }
}

function missingBlock(missing, ci) {
  if (missing.length === 0) return []
  const rule = '!'.repeat(80)
  const heading = ci ? 'NOT RUN on this machine, which CI=true does not allow:' : 'NOT RUN on this machine:'
  return ['', rule, heading, ...missing.map((sentence) => `  - ${sentence}`), rule, '']
}
