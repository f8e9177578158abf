import { boundOfAllLogsContract, invocationLogsContract } from './invocation-logs.contract.ts'
import type { LogsHarness } from './invocation-logs.contract.ts'
import type { LogBounds } from '../../functions/src/calls/invocation-logs.ts'
import { memoryInvocationLogs } from './memory-invocation-logs.ts'

function open(bounds?: LogBounds): Promise<LogsHarness> {
  const clock = { nowMs: 1_700_000_000_000 }
  return Promise.resolve({
    logs: memoryInvocationLogs(() => clock.nowMs, bounds),
    clock,
    dispose: () => Promise.resolve(),
  })
}

invocationLogsContract(open)
boundOfAllLogsContract(open)
