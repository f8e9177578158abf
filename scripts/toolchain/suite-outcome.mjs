/**
 * What one runner of tests has found: how many tests passed, failed and were left out, and in `faults` what went wrong
 * beside single tests. A run that ended without a result, or badly for no test's sake, is never a pass.
 */

/** From what jest wrote as JSON, undefined when it never finished, and its exit code. */
export function jestOutcome(result, code) {
  if (result === undefined) return unfinished('jest')
  const { numFailedTests: failed, numRuntimeErrorTestSuites: suites } = result
  const faults = suites > 0 ? [{ count: suites, line: `${suites} test files could not be run.` }] : []
  return outcome('jest', code, {
    passed: result.numPassedTests,
    failed,
    leftOut: result.numPendingTests + result.numTodoTests,
    faults,
  })
}

/** From what pytest wrote as JUnit's XML, '' when it never finished, and its exit code. */
export function pytestOutcome(xml, code) {
  const [counts] = /<testsuite [^>]*>/.exec(xml) ?? []
  if (counts === undefined) return unfinished('pytest')
  const count = (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(counts)?.[1] ?? Number.NaN)
  const [tests, failed, errors, leftOut] = ['tests', 'failures', 'errors', 'skipped'].map(count)
  const faults = errors > 0 ? [{ count: errors, line: `${errors} Python tests could not be run.` }] : []
  return outcome('pytest', code, { passed: tests - failed - errors - leftOut, failed, leftOut, faults })
}

/** Such as no test found, an obsolete snapshot, an error after the last test. */
function outcome(name, code, found) {
  const isBad = found.failed > 0 || found.faults.length > 0
  const faults = isBad || code === 0 ? found.faults : [{ count: 1, line: `${name} ended with code ${code}.` }]
  return { ...found, faults }
}

function unfinished(name) {
  return { passed: 0, failed: 0, leftOut: 0, faults: [{ count: 1, line: `${name} did not finish.` }] }
}
