export interface SuiteOutcome {
  readonly passed: number
  readonly failed: number
  readonly leftOut: number
  readonly faults: readonly { readonly count: number; readonly line: string }[]
}

export interface JestResult {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numRuntimeErrorTestSuites: number
}

export function jestOutcome(result: JestResult | undefined, code: number): SuiteOutcome
export function pytestOutcome(xml: string, code: number): SuiteOutcome
export function testReport(run: {
  readonly failedChecks?: readonly string[]
  readonly suites?: readonly SuiteOutcome[]
  readonly missing?: readonly string[]
  readonly ci?: boolean
}): { readonly code: number; readonly text: string }
