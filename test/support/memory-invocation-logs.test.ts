import { invocationLogsContract } from './invocation-logs.contract.ts'
import { memoryInvocationLogs } from './memory-invocation-logs.ts'

invocationLogsContract(() => {
  const clock = { nowMs: 1_700_000_000_000 }
  return Promise.resolve({
    logs: memoryInvocationLogs(() => clock.nowMs),
    clock,
    dispose: () => Promise.resolve(),
  })
})
