import { afterEach, expect, test } from '@jest/globals'
import type { UsageStore } from '../../functions/src/features/usage/usage-store.ts'
import type { TwoStores } from './two-stores.ts'

const MONDAY = { day: '2026-03-30', text: '{"on":"monday"}' }
const TUESDAY = { day: '2026-03-31', text: '{"on":"tuesday ü 🌧️"}' }

/** What every store of the use of tools guarantees. */
export function usageStoreContract(open: () => Promise<TwoStores<UsageStore>>): void {
  let opened: TwoStores<UsageStore> | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  async function stores(): Promise<readonly [UsageStore, UsageStore]> {
    opened = await open()
    return opened.stores
  }

  test('a user has the use that was kept for them, and nobody else has it', async () => {
    const [store, other] = await stores()
    expect(await store.read('ann')).toBeUndefined()
    expect(await store.keepFirst('ann', MONDAY)).toEqual(MONDAY)
    expect(await other.read('ann')).toEqual(MONDAY)
    for (const uid of ['bob', 'ANN', 'an']) expect(await other.read(uid)).toBeUndefined()
  })

  test('the first use of a day stays, whoever counts again, and the next day replaces it', async () => {
    const [store, other] = await stores()
    await store.keepFirst('ann', MONDAY)
    expect(await other.keepFirst('ann', { ...MONDAY, text: 'later' })).toEqual(MONDAY)
    expect(await other.keepFirst('ann', TUESDAY)).toEqual(TUESDAY)
    expect(await store.keepFirst('ann', MONDAY)).toEqual(TUESDAY)
    expect(await store.read('ann')).toEqual(TUESDAY)
  })

  test('instances that count at the same time agree', async () => {
    const all = await stores()
    const answers = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((n) => all[n % 2 ? 0 : 1].keepFirst('ann', { ...MONDAY, text: String(n) })),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await all[0].read('ann')).toEqual(answers[0])
  })
}
