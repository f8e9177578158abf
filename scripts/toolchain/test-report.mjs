/**
 * The last lines of `npm test`, and its exit code. `suites` are the outcomes of jest and pytest; `missing` are the sentences
 * of what cannot run on this machine. With `ci` nothing may be left out: a skipped test and a missing suite are failures
 * there.
 */
export function testReport({ failedChecks = [], suites = [], missing = [], ci = false }) {
  const sum = (count) => suites.reduce((total, suite) => total + count(suite), 0)
  const leftOut = sum((suite) => suite.leftOut)
  const failures = [
    ...failedChecks.map((name) => ({ count: 1, line: `The ${name} check failed.` })),
    ...suites.flatMap(({ failed, faults }) => [{ count: failed, line: '' }, ...faults]),
  ]
  if (ci && leftOut > 0)
    failures.push({ count: leftOut, line: `${leftOut} skipped tests fail because CI=true.` })
  if (ci) failures.push(...missing.map(() => ({ count: 1, line: '' })))

  const passed = sum((suite) => suite.passed)
  const failed = failures.reduce((total, { count }) => total + count, 0)
  const skipped = ci || leftOut === 0 ? '' : `, ${leftOut} skipped`
  const lines = failures.map(({ line }) => line).filter((line) => line !== '')
  return {
    code: failed > 0 ? 1 : 0,
    text: [...lines, ...missingBlock(missing, ci), `${passed} passed, ${failed} failed${skipped}`].join('\n'),
  }
}

function missingBlock(missing, ci) {
  if (missing.length === 0) return []
  const rule = '!'.repeat(80)
  const heading = ci ? 'NOT RUN on this machine, which CI=true does not allow:' : 'NOT RUN on this machine:'
  return ['', rule, heading, ...missing.map((sentence) => `  - ${sentence}`), rule, '']
}
