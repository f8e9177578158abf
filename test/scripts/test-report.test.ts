import { expect, test } from '@jest/globals'
import { testReport } from '../../scripts/toolchain/test-report.mjs'

const clean = {
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
}

function lastLine(text: string): string | undefined {
  return text.split('\n').at(-1)
}

test('a clean run is one line and code 0', () => {
  expect(testReport({ jest: clean })).toEqual({ code: 0, text: '12 passed, 0 failed' })
})

test('failed tests, files that could not be run and failed checks are counted together', () => {
  const jest = { ...clean, numFailedTests: 2, numRuntimeErrorTestSuites: 1 }
  const report = testReport({ jest, jestCode: 1, failedChecks: ['lint', 'types'] })
  expect(lastLine(report.text)).toBe('12 passed, 5 failed')
  expect(report.text).toContain('The lint check failed.')
  expect(report.code).toBe(1)
})

test('skipped tests are named at the end, and fail under CI', () => {
  const jest = { ...clean, numPendingTests: 2, numTodoTests: 1 }
  expect(testReport({ jest })).toEqual({ code: 0, text: '12 passed, 0 failed, 3 skipped' })
  const inCi = testReport({ jest, ci: true })
  expect(lastLine(inCi.text)).toBe('12 passed, 3 failed')
  expect(inCi.code).toBe(1)
})

test('what cannot run on the machine is loud and harmless, and fails under CI', () => {
  const missing = ['The Firestore emulator needs Java 21.', 'No browser is installed.']
  const report = testReport({ jest: clean, missing })
  for (const sentence of missing) expect(report.text).toContain(`  - ${sentence}`)
  expect([report.code, lastLine(report.text)]).toEqual([0, '12 passed, 0 failed'])
  const inCi = testReport({ jest: clean, missing, ci: true })
  expect([inCi.code, lastLine(inCi.text)]).toEqual([1, '12 passed, 2 failed'])
})

test('a jest that never finished, or failed for no test’s sake, is never a pass', () => {
  expect(testReport({ jestCode: 137 })).toEqual({ code: 1, text: 'jest did not finish.\n0 passed, 1 failed' })
  expect(testReport({ jest: clean, jestCode: 1 }).code).toBe(1)
})
