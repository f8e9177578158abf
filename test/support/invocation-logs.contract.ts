import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { endedCall } from './ended-call.ts'
import { foundCall, LOG_KEPT_MS, logBytes } from '../../functions/src/calls/invocation-logs.ts'
import type {
  CallPosition,
  CallsQuery,
  InvocationLog,
  InvocationLogs,
  LogBounds,
} from '../../functions/src/calls/invocation-logs.ts'

export type LogsHarness = {
  readonly logs: InvocationLogs
  /** The clock of the logs, in milliseconds since 1970. */
  readonly clock: { nowMs: number }
  readonly dispose: () => Promise<void>
}

/** The tests that every InvocationLogs must pass. It may keep up to `slackBytes` above the bound of a user. */
export function invocationLogsContract(
  open: (bounds?: LogBounds) => Promise<LogsHarness>,
  { slackBytes = 0 }: { readonly slackBytes?: number } = {},
): void {
  async function withLogs(act: (harness: LogsHarness) => Promise<void>, bounds?: LogBounds): Promise<void> {
    const harness = await open(bounds)
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

  test('a user who floods loses the own oldest logs, and nobody else loses one', () =>
    withLogs(
      async ({ logs, clock }) => {
        const early = newLog()
        await logs.keep('ann', early)
        const flood = Array.from({ length: 60 }, () => newLog({ text: 'x'.repeat(9_000) }))
        for (const log of flood) {
          clock.nowMs += 1
          await logs.keep('bob', log)
        }
        const late = newLog()
        await logs.keep('ann', late)
        expect([
          await logs.find('ann', early.invocationId),
          await logs.find('ann', late.invocationId),
        ]).toEqual([early, late])
        const kept = await keptOf(logs, 'bob', flood)
        expect(kept).toEqual(flood.slice(-kept.length))
        const bytes = kept.reduce((sum, log) => sum + logBytes(log), 0)
        expect(bytes).toBeGreaterThan(100_000 - logBytes(newLog({ text: 'x'.repeat(9_000) })))
        expect(bytes).toBeLessThanOrEqual(100_000 + slackBytes)
      },
      { userBytes: 100_000, allBytes: 10_000_000 },
    ))

  test('a page has the calls of the user and no others, newest first, without what they printed', () =>
    withLogs(async ({ logs, clock }) => {
      const [first, second, third] = [newLog(), endedCall({ at: laterTime() }), newLog()]
      for (const call of [first, third, second]) await logs.keep('ann', call)
      await logs.keep('bob', newLog())
      expect(await logs.page('ann', { limit: 10 })).toEqual([
        foundCall(third),
        { ...foundCall(second), hasLog: false },
        foundCall(first),
      ])
      expect(JSON.stringify(await logs.page('ann', { limit: 10 }))).not.toContain('printed')
      for (const uid of ['carl', 'ANN', 'a']) expect(await logs.page(uid, { limit: 10 })).toEqual([])
      clock.nowMs += LOG_KEPT_MS + 60_000
      expect(await logs.page('ann', { limit: 10 })).toEqual([])
    }))

  test('pages follow each other without a gap, also calls of the same millisecond, and if a call came or went', () =>
    withLogs(async ({ logs }) => {
      const at = laterTime()
      const calls = [
        ...Array.from({ length: 5 }, () => endedCall({ at })),
        ...Array.from({ length: 4 }, () => endedCall({ at: laterTime() })),
      ]
      for (const call of calls) await logs.keep('ann', call)
      const seen: string[] = []
      let before: CallPosition | undefined
      for (let pages = 0; pages < 5; pages += 1) {
        const page = await logs.page('ann', { before, limit: 2 })
        seen.push(...page.map(({ invocationId }) => invocationId))
        before = page.at(-1)
        await logs.keep('ann', endedCall({ at: laterTime() }))
      }
      expect(seen).toEqual(calls.toSorted(newestFirst).map(({ invocationId }) => invocationId))
      const gone = { at, invocationId: randomUUID() }
      const older = calls.filter((call) => newestFirst(gone, call) < 0).toSorted(newestFirst)
      expect(await logs.page('ann', { before: gone, limit: 99 })).toEqual(older.map(foundCall))
    }))

  test('a page has only the calls that its filters let pass', () =>
    withLogs(async ({ logs }) => {
      const failure = { outcome: 'failure', code: 'TOOL_RAISED' } as const
      const good = endedCall({ at: laterTime(), tool: 'a' })
      const bad = endedCall({ at: laterTime(), tool: 'a', ...failure, workflow: 'w' })
      const none = endedCall({ at: laterTime(), tool: null, outcome: 'failure', code: 'BODY_INVALID' })
      const other = endedCall({ at: laterTime(), tool: 'b', ...failure })
      for (const call of [good, bad, none, other]) await logs.keep('ann', call)
      const found = async (query: Omit<CallsQuery, 'limit'>): Promise<readonly string[]> =>
        (await logs.page('ann', { ...query, limit: 10 })).map(({ invocationId }) => invocationId)
      expect(await found({ tool: 'a' })).toEqual(ids(bad, good))
      expect(await found({ outcome: 'success' })).toEqual(ids(good))
      expect(await found({ outcome: 'failure' })).toEqual(ids(other, none, bad))
      expect(await found({ outcome: 'TOOL_RAISED' })).toEqual(ids(other, bad))
      expect(await found({ outcome: 'TOOL_RAISED', tool: 'a', workflow: 'w' })).toEqual(ids(bad))
      expect(await found({ workflow: 'v' })).toEqual([])
      expect(await found({ since: none.at })).toEqual(ids(other, none))
      expect(await found({ since: none.at, before: other, outcome: 'failure' })).toEqual(ids(none))
    }))

  test('calls that print nothing count too, and the oldest go first', () =>
    withLogs(
      async ({ logs, clock }) => {
        const flood = Array.from({ length: 150 }, () => endedCall({ at: laterTime() }))
        for (const call of flood) {
          clock.nowMs += 1
          await logs.keep('bob', call)
        }
        const kept = await logs.page('bob', { limit: 200 })
        expect(kept.length).toBeGreaterThan(10)
        expect(kept).toEqual(flood.slice(-kept.length).toReversed().map(foundCall))
        expect(kept.length * logBytes(endedCall())).toBeLessThanOrEqual(40_000 + slackBytes)
      },
      { userBytes: 40_000, allBytes: 10_000_000 },
    ))

  test('the shortest logs count too', () =>
    withLogs(
      async ({ logs, clock }) => {
        const flood = Array.from({ length: 150 }, () => newLog({ text: '.' }))
        for (const log of flood) {
          clock.nowMs += 1
          await logs.keep('bob', log)
        }
        const kept = await keptOf(logs, 'bob', flood)
        expect(kept).toEqual(flood.slice(-kept.length))
        expect(kept.length * logBytes(newLog({ text: '.' }))).toBeLessThanOrEqual(40_000 + slackBytes)
      },
      { userBytes: 40_000, allBytes: 10_000_000 },
    ))
}

/** The tests for an InvocationLogs that also has a bound for the logs of all users together. */
export function boundOfAllLogsContract(open: (bounds: LogBounds) => Promise<LogsHarness>): void {
  test('when all users together have too much, who has most loses the oldest', async () => {
    const { logs, dispose } = await open({ userBytes: 100_000, allBytes: 150_000 })
    try {
      const large = (): InvocationLog => newLog({ text: 'x'.repeat(8_900) })
      const ofBob = Array.from({ length: 9 }, large)
      for (const log of ofBob) await logs.keep('bob', log)
      const ofAnn = Array.from({ length: 4 }, large)
      for (const log of ofAnn) await logs.keep('ann', log)
      const others = Array.from({ length: 6 }, large)
      for (const [index, log] of others.entries()) await logs.keep(`user${index}`, log)
      const kept = await keptOf(logs, 'bob', ofBob)
      expect(kept).toEqual(ofBob.slice(-5))
      expect(await keptOf(logs, 'ann', ofAnn)).toEqual(ofAnn)
      for (const [index, log] of others.entries())
        expect(await logs.find(`user${index}`, log.invocationId)).toEqual(log)
    } finally {
      await logs.close()
      await dispose()
    }
  })
}

async function keptOf(
  logs: InvocationLogs,
  uid: string,
  among: readonly InvocationLog[],
): Promise<readonly InvocationLog[]> {
  const found = await Promise.all(among.map(({ invocationId }) => logs.find(uid, invocationId)))
  return found.filter((log) => log !== undefined)
}

function newLog(more: Parameters<typeof endedCall>[0] = {}): InvocationLog {
  return endedCall({ at: laterTime(), text: 'printed\n', ...more })
}

let times = 0

/** Each call arrives a millisecond after the one before. */
function laterTime(): string {
  times += 1
  return new Date(1_700_000_000_000 + times).toISOString()
}

function ids(...calls: readonly InvocationLog[]): readonly string[] {
  return calls.map(({ invocationId }) => invocationId)
}

function newestFirst(a: CallPosition, b: CallPosition): number {
  return `${a.at}/${a.invocationId}` < `${b.at}/${b.invocationId}` ? 1 : -1
}
