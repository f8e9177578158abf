/**
 * The last lines of `npm test`, and its exit code. `jest` is what jest wrote as JSON, undefined when it never finished;
 * `missing` are the sentences of suites that cannot run on this machine. With `ci` nothing may be left out: a skipped
 * test and a missing suite are failures there.
 */
export function testReport({ failedChecks = [], jest, jestCode = 0, missing = [], ci = false }) {
  const leftOut = jest ? jest.numPendingTests + jest.numTodoTests : 0
  const passed = jest?.numPassedTests ?? 0
  const failures = [
    ...failedChecks.map((name) => ({ count: 1, line: `The ${name} check failed.` })),
    ...jestFailures(jest, jestCode),
  ]
  if (ci && leftOut > 0)
    failures.push({ count: leftOut, line: `${leftOut} skipped tests fail because CI=true.` })
  if (ci) failures.push(...missing.map(() => ({ count: 1, line: '' })))

  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  const skipped = ci || leftOut === 0 ? '' : `, ${leftOut} skipped`
  const lines = failures.map(({ line }) => line).filter((line) => line !== '')
  return {
    code: failed > 0 ? 1 : 0,
    text: [...lines, ...missingBlock(missing, ci), `${passed} passed, ${failed} failed${skipped}`].join('\n'),
  }
}

function jestFailures(jest, jestCode) {
  if (jest === undefined) return [{ count: 1, line: 'jest did not finish.' }]
  const { numFailedTests: tests, numRuntimeErrorTestSuites: suites } = jest
  const failures = []
  if (tests > 0) failures.push({ count: tests, line: '' })
  if (suites > 0) failures.push({ count: suites, line: `${suites} test files could not be run.` })
  // Such as no test found, an obsolete snapshot, an error after the last test.
  if (failures.length === 0 && jestCode !== 0)
    failures.push({ count: 1, line: `jest ended with code ${jestCode}.` })
  return failures
}

function missingBlock(missing, ci) {
  if (missing.length === 0) return []
  const rule = '!'.repeat(80)
  const heading = ci ? 'NOT RUN on this machine, which CI=true does not allow:' : 'NOT RUN on this machine:'
  return ['', rule, heading, ...missing.map((sentence) => `  - ${sentence}`), rule, '']
}
