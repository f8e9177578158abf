import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { LOG_KEPT_MS } from '../../functions/src/calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs } from '../../functions/src/calls/pipeline/invocation-logs.ts'

export type LogsHarness = {
  readonly logs: InvocationLogs
  /** Milliseconds since 1970, as the logs see it. */
  readonly clock: { nowMs: number }
  readonly dispose: () => Promise<void>
}

/** What every keeper of logs must hold. */
export function invocationLogsContract(open: () => Promise<LogsHarness>): void {
  async function withLogs(act: (harness: LogsHarness) => Promise<void>): Promise<void> {
    const harness = await open()
    try {
      await act(harness)
    } finally {
      await harness.logs.close()
      await harness.dispose()
    }
  }

  test('a log is found as it was kept', () =>
    withLogs(async ({ logs }) => {
      const [small, cut] = [newLog(), newLog({ text: 'ü\n"quoted"\u0000 🌧️'.repeat(3_000), truncated: true })]
      await logs.keep('ann', small)
      await logs.keep('ann', cut)
      expect(await logs.find('ann', small.invocationId)).toEqual(small)
      expect(await logs.find('ann', cut.invocationId)).toEqual(cut)
    }))

  test('a log of another, and one that was never kept, are not found', () =>
    withLogs(async ({ logs }) => {
      const log = newLog()
      await logs.keep('ann', log)
      for (const uid of ['bob', 'ANN', 'a']) expect(await logs.find(uid, log.invocationId)).toBeUndefined()
      expect(await logs.find('ann', randomUUID())).toBeUndefined()
    }))

  test('a log is gone after 24 hours, and others are not', () =>
    withLogs(async ({ logs, clock }) => {
      const [old, young] = [newLog(), newLog()]
      await logs.keep('ann', old)
      clock.nowMs += LOG_KEPT_MS - 1
      await logs.keep('ann', young)
      expect(await logs.find('ann', old.invocationId)).toEqual(old)
      clock.nowMs += 1
      expect(await logs.find('ann', old.invocationId)).toBeUndefined()
      expect(await logs.find('ann', young.invocationId)).toEqual(young)
    }))
}

function newLog(more: Partial<InvocationLog> = {}): InvocationLog {
  const at = '2026-01-02T03:04:05.678Z'
  return { invocationId: randomUUID(), tool: 'weather:get', at, text: 'printed\n', truncated: false, ...more }
}
