import { describe, expect, test } from '@jest/globals'
import { featureStores } from '../../../support/feature-stores.ts'
import type { UsageStore } from '../../../../functions/src/features/usage/usage-store.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { memoryInvocationLogs } from '../../../support/memory-invocation-logs.ts'
import type { CallFacts } from '../../../../functions/src/calls/invocation-logs.ts'
import { countUsage, readUsage, usageText } from '../../../../functions/src/features/usage/usage-count.ts'
import { NO_RANK, type UsageRank } from '../../../../functions/src/catalog/views/usage-rank.ts'
import { rankOf } from '../../../../functions/src/features/usage/rank-of.ts'
import { UsageRanks } from '../../../../functions/src/features/usage/usage-ranks.ts'

const HOUR_MS = 60 * 60 * 1_000
const AT = Date.parse('2026-03-31T12:00:00.000Z')

/** Two instances over one store and one set of calls, with a clock that the test sets. */
function instances() {
  const clock = { nowMs: AT }
  const now = () => clock.nowMs
  const logs = memoryInvocationLogs(now)
  const governance = memoryGovernance()
  const { usage } = featureStores(governance, now)
  const warnings: string[] = []
  const open = (store: Pick<UsageStore, 'read' | 'keepFirst'> = usage) =>
    new UsageRanks({
      store,
      calls: (uid, since, limit) => logs.page(uid, { since, limit }),
      now,
      log: { warn: (message) => void warnings.push(message) },
    })
  const call = (uid: string, tool: string, facts: Partial<CallFacts> = {}) =>
    logs.keep(uid, endedCall({ tool, at: new Date(clock.nowMs).toISOString(), ...facts }))
  return { clock, usage, open, call, warnings, close: governance.close }
}
const names = async (rank: UsageRank | Promise<UsageRank>) => [...(await rank).places.keys()]
const FAILED = { outcome: 'failure', code: 'TOOL_RAISED' } as const

describe('the rank of a day', () => {
  test('has the tools that were called most first, and none that mostly fail', async () => {
    const { open, call, close } = instances()
    for (const tool of ['often', 'often', 'once', 'broken', 'broken', 'half', 'half', 'half'])
      await call('ann', tool, tool === 'broken' ? FAILED : {})
    await call('ann', 'half', FAILED)
    await call('ann', 'refused', { outcome: 'failure', code: 'ARGUMENTS_INVALID' })
    await call('ann', 'tried', { dryRun: true })
    await call('bob', 'of_bob')
    expect(await names(open().of('ann'))).toEqual(['half', 'often', 'once'])
    await close()
  })

  test('stays the same until the UTC day ends, on every instance, and then it is counted again', async () => {
    const { open, call, clock, close } = instances()
    const [one, other] = [open(), open()]
    for (const tool of ['first', 'first']) await call('ann', tool)
    const before = await one.of('ann')
    clock.nowMs += 1_000
    for (const tool of ['second', 'second']) await call('ann', tool)
    expect(one.of('ann')).toBe(before)
    expect(await other.of('ann')).toEqual(before)
    clock.nowMs = AT + 12 * HOUR_MS
    expect(await names(other.of('ann'))).toEqual(['second', 'first'])
    expect((await one.of('ann')).revision).not.toBe(before.revision)
    await close()
  })

  test('counts no call twice, and halves what was counted before', async () => {
    const { open, call, clock, usage, close } = instances()
    for (let n = 0; n < 4; n += 1) await call('ann', 'a')
    await open().of('ann')
    clock.nowMs += 13 * HOUR_MS
    await call('ann', 'b')
    await open().of('ann')
    const kept = await usage.read('ann')
    expect(kept?.day).toBe('2026-04-01')
    expect(readUsage(kept?.text ?? '')?.tools).toEqual([
      { name: 'a', calls: 2, failures: 0 },
      { name: 'b', calls: 1, failures: 0 },
    ])
    await close()
  })
})

test('a rank that cannot be read is no rank, and is read again after a minute', async () => {
  const { open, call, clock, usage, warnings, close } = instances()
  await call('ann', 'a')
  let isLost = true
  const ranks = open({
    keepFirst: (uid, use) => usage.keepFirst(uid, use),
    read: (uid) => (isLost ? Promise.reject(new Error('lost')) : usage.read(uid)),
  })
  expect(await ranks.of('ann')).toBe(NO_RANK)
  isLost = false
  expect(ranks.of('ann')).toBe(NO_RANK)
  clock.nowMs += 60_000
  expect(await names(ranks.of('ann'))).toEqual(['a'])
  expect(warnings).toEqual(['the use of tools could not be read, so they are ranked by name'])
  await close()
})

test('a kept text that this version does not read is counted again', async () => {
  const { open, call, usage, close } = instances()
  await call('ann', 'a')
  await usage.keepFirst('ann', { day: '2026-03-30', text: '[]' })
  expect(await names(open().of('ann'))).toEqual(['a'])
  await close()
})

test('equal orders have equal revisions, and a user without calls has the same rank as any other', () => {
  const call = { tool: 'a', code: null, replayed: false, dryRun: false }
  const once = countUsage([call], undefined, 'u')
  const twice = countUsage([call, call], undefined, 'v')
  expect(readUsage(usageText(once))).toEqual(once)
  expect(rankOf(once)).toEqual(rankOf(twice))
  expect(rankOf(countUsage([], undefined, 'u'))).toBe(NO_RANK)
})
