import { afterEach, expect, test } from '@jest/globals'
import { UsageStore } from '../../../../functions/src/features/usage/usage-store.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const MONDAY = { day: '2026-03-30', text: '{"on":"monday"}' }
const TUESDAY = { day: '2026-03-31', text: '{"on":"tuesday ü 🌧️"}' }

/** What the use of tools guarantees over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function stores(): readonly [UsageStore, UsageStore] {
    opened = open()
    const [one, other] = opened.documents
    return [new UsageStore(one), new UsageStore(other)]
  }

  test('a user has the use that was kept for them, and nobody else has it', async () => {
    const [store, other] = stores()
    expect(await store.read('ann')).toBeUndefined()
    expect(await store.keepFirst('ann', MONDAY)).toEqual(MONDAY)
    expect(await other.read('ann')).toEqual(MONDAY)
    for (const uid of ['bob', 'ANN', 'an']) expect(await other.read(uid)).toBeUndefined()
  })

  test('the first use of a day stays, whoever counts again, and the next day replaces it', async () => {
    const [store, other] = stores()
    await store.keepFirst('ann', MONDAY)
    expect(await other.keepFirst('ann', { ...MONDAY, text: 'later' })).toEqual(MONDAY)
    expect(await other.keepFirst('ann', TUESDAY)).toEqual(TUESDAY)
    expect(await store.keepFirst('ann', MONDAY)).toEqual(TUESDAY)
    expect(await store.read('ann')).toEqual(TUESDAY)
  })

  test('instances that count at the same time agree', async () => {
    const all = stores()
    const answers = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((n) => all[n % 2 ? 0 : 1].keepFirst('ann', { ...MONDAY, text: String(n) })),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await all[0].read('ann')).toEqual(answers[0])
  })
}
