import type { CallOutcome } from './call.ts'

/**
 * The grants that the tool had while it ran, sorted. Undefined if it asks for none, or if nothing has run: the call was refused
 * or simulated, or its result is that of an earlier call. If the tool may have run, it counts as run.
 */
export function usedGrants({ call, result, isolation, usage, replayed, mayHaveRun }: CallOutcome) {
  const { entry, isDryRun } = call
  if (!entry || entry.grants.length === 0 || isDryRun || replayed) return undefined
  // The runner measures the isolation and the usage only of what it has run. Without an answer of the runner, nobody knows.
  const isUnknown = mayHaveRun === true || (result.resultType === 'failure' && result.code === 'WORKER_DIED')
  const hasRun = result.resultType === 'success' || isolation !== null || usage !== null
  return hasRun || isUnknown ? entry.grants : undefined
}
