import { afterEach, expect, test } from '@jest/globals'
import { CallCounts } from '../../../../functions/src/features/statistics/call-counts.ts'
import { HOUR_MS, HourStore } from '../../../../functions/src/features/statistics/hour-store.ts'
import { ListTokens } from '../../../../functions/src/features/statistics/list-tokens.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { START_MS, type TwoDocuments } from '../../../support/two-stores.ts'

const call = (counts: CallCounts, uid: string, tool: string, atMs = START_MS): void =>
  counts.countCall(uid, endedCall({ tool }), atMs)
async function calls(counts: CallCounts, owner: string, hours = 0): Promise<Record<string, number>> {
  const { tools } = await counts.read(owner, START_MS - hours * HOUR_MS, START_MS)
  return Object.fromEntries(Array.from(tools, ([name, count]) => [name, count.calls]))
}

/** What the counts of calls guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function instances(): readonly [CallCounts, CallCounts, HourStore] {
    opened = open()
    const [one, other] = opened.documents.map((documents, at) => {
      const { clocks = [] } = opened ?? {}
      const now = () => clocks[at]?.nowMs ?? 0
      const log = { warn: () => undefined }
      return new CallCounts({ store: new HourStore(documents), listTokens: new ListTokens(), now, log })
    })
    return [one as CallCounts, other as CallCounts, new HourStore(opened.documents[0])]
  }

  test('two instances add to the same counts, of each user and of all', async () => {
    const [one, other] = instances()
    for (const counts of [one, other, one]) call(counts, 'ann', 'weather:get')
    call(other, 'bob', 'weather:get')
    call(other, 'bob', 'mail:send')
    await Promise.all([one.write(), other.write()])
    for (const counts of [one, other]) {
      expect(await calls(counts, 'ann')).toEqual({ 'weather:get': 3 })
      expect(await calls(counts, 'bob')).toEqual({ 'weather:get': 1, 'mail:send': 1 })
      expect(await calls(counts, '')).toEqual({ 'weather:get': 4, 'mail:send': 1 })
      expect(await calls(counts, 'an')).toEqual({})
    }
  })

  test('each hour has its own counts, and a window has those of its hours', async () => {
    const [one, other] = instances()
    call(one, 'ann', 'late', START_MS)
    call(one, 'ann', 'early', START_MS - HOUR_MS)
    call(one, 'ann', 'old', START_MS - 3 * HOUR_MS)
    await one.write()
    expect(await calls(other, 'ann', 0)).toEqual({ late: 1 })
    expect(await calls(other, 'ann', 1)).toEqual({ late: 1, early: 1 })
    expect(await calls(other, 'ann', 24)).toEqual({ late: 1, early: 1, old: 1 })
  })

  test('a part that is added again, because its answer was lost, counts once', async () => {
    const [one, , store] = instances()
    const count = { calls: 1, failures: 1, refused: 0, lists: 2, tokens: 10, lastUsedMs: START_MS }
    const error = { code: 'TOOL_RAISED', atMs: START_MS } as const
    const part = (number: number) => ({
      owner: 'ann',
      hourMs: Math.floor(START_MS / HOUR_MS) * HOUR_MS,
      number,
      tools: new Map([['broken', { ...count, lastError: error, durations: { 7: 1 } }]]),
    })
    for (const number of [1, 1, 2, 2, 1]) await store.add(part(number), 'an-instance')
    await store.add(part(1), 'another')
    const { tools } = await one.read('ann', START_MS, START_MS)
    expect(Object.fromEntries(tools)).toEqual({
      broken: {
        calls: 3,
        failures: 3,
        refused: 0,
        lists: 6,
        tokens: 30,
        lastUsedMs: START_MS,
        lastError: error,
        durations: { 7: 3 },
      },
    })
  })
}
