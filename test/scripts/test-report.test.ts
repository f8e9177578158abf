import { expect, test } from '@jest/globals'
import { jestOutcome, pytestOutcome, testReport } from '../../scripts/toolchain/test-report.mjs'

const clean = {
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
}

const jest = (counts: Partial<typeof clean> = {}, code = 0) => jestOutcome({ ...clean, ...counts }, code)

/** What pytest writes at the top of its file. */
const pytest = (tests: number, { failures = 0, errors = 0, skipped = 0, code = 0 } = {}) =>
  pytestOutcome(
    `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="${errors}" failures="${failures}" skipped="${skipped}" tests="${tests}" time="0.1" hostname="here">`,
    code,
  )

function lastLine(text: string): string | undefined {
  return text.split('\n').at(-1)
}

test('a clean run is one line and code 0', () => {
  expect(testReport({ suites: [jest()] })).toEqual({ code: 0, text: '12 passed, 0 failed' })
})

test('failed tests, files that could not be run and failed checks are counted together', () => {
  const failing = jest({ numFailedTests: 2, numRuntimeErrorTestSuites: 1 }, 1)
  const report = testReport({ suites: [failing], failedChecks: ['lint', 'types'] })
  expect(lastLine(report.text)).toBe('12 passed, 5 failed')
  expect(report.text).toContain('The lint check failed.')
  expect(report.code).toBe(1)
})

test('skipped tests are named at the end, and fail under CI', () => {
  const suites = [jest({ numPendingTests: 2, numTodoTests: 1 })]
  expect(testReport({ suites })).toEqual({ code: 0, text: '12 passed, 0 failed, 3 skipped' })
  const inCi = testReport({ suites, ci: true })
  expect(lastLine(inCi.text)).toBe('12 passed, 3 failed')
  expect(inCi.code).toBe(1)
})

test('what cannot run on the machine is loud and harmless, and fails under CI', () => {
  const missing = ['The Firestore emulator needs Java 21.', 'No browser is installed.']
  const report = testReport({ suites: [jest()], missing })
  for (const sentence of missing) expect(report.text).toContain(`  - ${sentence}`)
  expect([report.code, lastLine(report.text)]).toEqual([0, '12 passed, 0 failed'])
  const inCi = testReport({ suites: [jest()], missing, ci: true })
  expect([inCi.code, lastLine(inCi.text)]).toEqual([1, '12 passed, 2 failed'])
})

test('a jest that never finished, or failed for no test’s sake, is never a pass', () => {
  expect(testReport({ suites: [jestOutcome(undefined, 137)] })).toEqual({
    code: 1,
    text: 'jest did not finish.\n0 passed, 1 failed',
  })
  expect(testReport({ suites: [jest({}, 1)] }).code).toBe(1)
})

test('the tests of both languages are counted together', () => {
  expect(testReport({ suites: [jest(), pytest(30)] })).toEqual({ code: 0, text: '42 passed, 0 failed' })
  const failing = pytest(30, { failures: 2, errors: 1, skipped: 4, code: 1 })
  const report = testReport({ suites: [jest(), failing] })
  expect(report).toEqual({
    code: 1,
    text: '1 Python tests could not be run.\n35 passed, 3 failed, 4 skipped',
  })
  expect(lastLine(testReport({ suites: [jest(), failing], ci: true }).text)).toBe('35 passed, 7 failed')
})

test('a pytest that never finished, found nothing, or failed for no test’s sake, is never a pass', () => {
  expect(testReport({ suites: [jest(), pytestOutcome('', 137)] })).toEqual({
    code: 1,
    text: 'pytest did not finish.\n12 passed, 1 failed',
  })
  expect(testReport({ suites: [jest(), pytest(0, { code: 5 })] }).text).toMatch(
    /^pytest ended with code 5\.$/m,
  )
})
