import type { SuiteOutcome } from './suite-outcome.mjs'

export function testReport(run: {
  readonly failedChecks?: readonly string[]
  readonly suites?: readonly SuiteOutcome[]
  readonly missing?: readonly string[]
  readonly ci?: boolean
}): { readonly code: number; readonly text: string }
