import { randomUUID } from 'node:crypto'
import type { CallFacts, InvocationLog } from '../../functions/src/calls/invocation-logs.ts'
import type { PrintedLog } from '../../functions/src/catalog/definitions/runner.ts'

/** A call as a store keeps it. With a text it has printed this text. */
export function endedCall({
  text,
  truncated = false,
  ...more
}: Partial<CallFacts & PrintedLog> = {}): InvocationLog {
  return {
    invocationId: randomUUID(),
    parentInvocationId: null,
    tool: 'weather:get',
    digest: `sha256:${'0'.repeat(64)}`,
    revision: 'r1',
    at: '2026-01-02T03:04:05.678Z',
    durationMs: 1.5,
    outcome: 'success',
    code: null,
    isolation: 'L2',
    usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 },
    replayed: false,
    dryRun: false,
    workflow: null,
    decision: { effect: 'allow', owner: null, rule: null, reason: 'There are no rules.' },
    log: text === undefined ? null : { text, truncated },
    ...more,
  }
}
