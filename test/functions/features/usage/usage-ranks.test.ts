import { describe, expect, test } from '@jest/globals'
import { featureStores } from '../../../support/feature-stores.ts'
import type { UsageStore } from '../../../../functions/src/features/usage/usage-store.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { endedCall } from '../../../support/ended-call.ts'
import type { CallFacts } from '../../../../functions/src/calls/invocation-logs.ts'
import { CallCounts } from '../../../../functions/src/features/statistics/call-counts.ts'
import { HourStore } from '../../../../functions/src/features/statistics/hour-store.ts'
import { ListTokens } from '../../../../functions/src/features/statistics/list-tokens.ts'
import { usage as feature } from '../../../../functions/src/features/usage/feature.ts'
import { added, readUsage, usageText } from '../../../../functions/src/features/usage/usage-count.ts'
import { NO_RANK, type UsageRank } from '../../../../functions/src/catalog/views/usage-rank.ts'
import { rankOf } from '../../../../functions/src/features/usage/rank-of.ts'
import { UsageRanks } from '../../../../functions/src/features/usage/usage-ranks.ts'

const HOUR_MS = 60 * 60 * 1_000
const AT = Date.parse('2026-03-31T12:00:00.000Z')

/** Instances over one store, with a clock that the test sets. The calls are counted by another instance, which writes them. */
function instances() {
  const clock = { nowMs: AT }
  const now = () => clock.nowMs
  const governance = memoryGovernance()
  const { usage, documents } = featureStores(governance, now)
  const warnings: string[] = []
  const log = {
    info: () => undefined,
    warn: (message: string) => void warnings.push(message),
    error: () => undefined,
  }
  const counting = () =>
    new CallCounts({ store: new HourStore(documents), listTokens: new ListTokens(), now, log })
  const counts = counting()
  const open = () => feature.create({ documents, callCounts: counting(), now, log }).usageRanks
  const openOver = (store: Pick<UsageStore, 'read' | 'keepFirst'>) =>
    new UsageRanks({
      store,
      uses: async (uid, fromMs, toMs) => {
        const { tools } = await counting().read(uid, fromMs, toMs)
        return Array.from(tools, ([name, { calls, failures }]) => ({ name, calls, failures }))
      },
      now,
      log,
    })
  const call = (uid: string, tool: string, facts: Partial<CallFacts> = {}) => {
    counts.countCall(uid, endedCall({ tool, ...facts }), clock.nowMs)
    return counts.write()
  }
  return { clock, usage, open, openOver, call, warnings, close: governance.close }
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
    for (const tool of ['second', 'third', 'third', 'third']) await call('ann', tool)
    expect(await names(other.of('ann'))).toEqual(['second', 'third', 'first'])
    expect((await one.of('ann')).revision).not.toBe(before.revision)
    await close()
  })

  test('counts no call twice, also those of a day after its rank was made, and halves what is older than a day', async () => {
    const { open, call, clock, usage, close } = instances()
    const uses = async () => {
      await open().of('ann')
      const { day, text } = (await usage.read('ann')) ?? { day: '', text: '' }
      return [day, ...(readUsage(text)?.tools ?? []).map(({ name, calls }) => `${name} ${calls}`)]
    }
    for (let n = 0; n < 3; n += 1) await call('ann', 'a')
    expect(await uses()).toEqual(['2026-03-31', 'a 3'])
    await call('ann', 'a')
    clock.nowMs += 13 * HOUR_MS
    await call('ann', 'b')
    expect(await uses()).toEqual(['2026-04-01', 'a 4', 'b 1'])
    clock.nowMs += 24 * HOUR_MS
    expect(await uses()).toEqual(['2026-04-02', 'a 2', 'b 1'])
    clock.nowMs += 5 * 24 * HOUR_MS
    expect(await uses()).toEqual(['2026-04-07', 'a 1'])
    await close()
  })
})

test('a rank that cannot be read is no rank, and is read again after a minute', async () => {
  const { openOver, call, clock, usage, warnings, close } = instances()
  await call('ann', 'a')
  let isLost = true
  const ranks = openOver({
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

test('what a version without days before has kept is counted as of before', () => {
  const tools = [{ name: 'a', calls: 1, failures: 0 }]
  expect(readUsage(JSON.stringify({ until: 'u', tools }))).toEqual({ until: 'u', tools, before: tools })
})

test('equal orders have equal revisions, and a user without calls has the same rank as any other', () => {
  const use = { name: 'a', calls: 1, failures: 0 }
  const count = { until: 'u', before: [], tools: added([use], []) }
  expect(readUsage(usageText(count))).toEqual(count)
  expect(rankOf(count)).toEqual(rankOf({ tools: added([use], [use]) }))
  expect(rankOf({ tools: [] })).toBe(NO_RANK)
})
