export interface JestCounts {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numRuntimeErrorTestSuites: number
}
export function testReport(run: {
  readonly failedChecks?: readonly string[]
  readonly jest?: JestCounts | undefined
  readonly jestCode?: number
  readonly missing?: readonly string[]
  readonly ci?: boolean
}): { readonly code: number; readonly text: string }
