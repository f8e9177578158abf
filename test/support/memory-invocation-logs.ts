import { LOG_KEPT_MS } from '../../functions/src/calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs } from '../../functions/src/calls/pipeline/invocation-logs.ts'

/** Keeps what calls have printed as long as the test runs. */
export function memoryInvocationLogs(now: () => number = Date.now): InvocationLogs {
  const kept = new Map<string, { readonly log: InvocationLog; readonly untilMs: number }>()
  return {
    keep: async (uid, log) => {
      await Promise.resolve()
      kept.set(JSON.stringify([uid, log.invocationId]), { log, untilMs: now() + LOG_KEPT_MS })
    },
    find: async (uid, invocationId) => {
      await Promise.resolve()
      const found = kept.get(JSON.stringify([uid, invocationId]))
      return found && found.untilMs > now() ? found.log : undefined
    },
    close: () => Promise.resolve(),
  }
}
