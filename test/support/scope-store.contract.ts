import { afterEach, expect, test } from '@jest/globals'
import type { ScopeOwner, ScopeStore, ScopeTotals } from '../../functions/src/features/scopes/scope-store.ts'
import type { TwoStores } from './two-stores.ts'

const ROOM: ScopeOwner = { kind: 'room', id: '!a/b:c.example' }
const AGENT: ScopeOwner = { kind: 'agent', id: ROOM.id }

/** Writes the text, and tells what was there before. */
function becomes(text: string | undefined) {
  return (before: string | undefined, totals: ScopeTotals) => ({ text, result: { before, totals } })
}

/** What every store of scopes guarantees. */
export function scopeStoreContract(open: () => Promise<TwoStores<ScopeStore>>): void {
  let opened: TwoStores<ScopeStore> | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  async function stores(): Promise<readonly [ScopeStore, ScopeStore]> {
    opened = await open()
    return opened.stores
  }

  test('each user, each kind and each id has a text of its own', async () => {
    const [store, other] = await stores()
    await store.change('ann', ROOM, becomes('room of ann'))
    await store.change('ann', AGENT, becomes('agent of ann'))
    await store.change('bob', ROOM, becomes('room of bob'))
    expect(await other.read('ann', ROOM)).toBe('room of ann')
    expect(await other.read('ann', AGENT)).toBe('agent of ann')
    expect(await other.read('bob', ROOM)).toBe('room of bob')
    expect(await other.read('bob', AGENT)).toBeUndefined()
    const all = [...(await other.all('ann'))].toSorted((a, b) => (a.text < b.text ? -1 : 1))
    expect(all).toEqual([
      { owner: AGENT, text: 'agent of ann' },
      { owner: ROOM, text: 'room of ann' },
    ])
    expect(await other.all('eve')).toEqual([])
  })

  test('a change sees the text and the totals of its user before it', async () => {
    const [store, other] = await stores()
    const [none, one] = [
      { scopes: 0, bytes: 0 },
      { scopes: 1, bytes: 3 },
    ]
    await store.change('bob', ROOM, becomes('of bob'))
    expect(await store.change('ann', ROOM, becomes('éx'))).toEqual({ before: undefined, totals: none })
    expect(await other.change('ann', ROOM, becomes('éx'))).toEqual({ before: 'éx', totals: one })
    expect(await other.change('ann', ROOM, becomes('longer'))).toEqual({ before: 'éx', totals: one })
    expect(await store.change('ann', AGENT, becomes('y'))).toEqual({
      before: undefined,
      totals: { scopes: 1, bytes: 6 },
    })
    expect(await store.change('ann', ROOM, becomes(undefined))).toEqual({
      before: 'longer',
      totals: { scopes: 2, bytes: 7 },
    })
    expect(await other.read('ann', ROOM)).toBeUndefined()
    expect(await store.change('ann', ROOM, becomes(undefined))).toEqual({
      before: undefined,
      totals: { scopes: 1, bytes: 1 },
    })
  })

  test('a plan that throws writes nothing, and its error reaches the caller', async () => {
    const [store] = await stores()
    await store.change('ann', ROOM, becomes('a'))
    const refused = store.change('ann', ROOM, () => {
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await store.read('ann', ROOM)).toBe('a')
  })

  test('changes of two instances at once all happen, one after the other, and the totals count each', async () => {
    const [store, other] = await stores()
    const changes = Array.from({ length: 6 }, (_, index) =>
      (index % 2 === 0 ? store : other).change('ann', ROOM, (before = '') => ({
        text: `${before}x`,
        result: undefined,
      })),
    )
    await Promise.all(changes)
    expect(await store.change('ann', ROOM, becomes('x'.repeat(6)))).toEqual({
      before: 'x'.repeat(6),
      totals: { scopes: 1, bytes: 6 },
    })
  })

  test('a text of 256 KB is kept as it is', async () => {
    const [store, other] = await stores()
    const text = `é${'x'.repeat(256 * 1024 - 2)}`
    await store.change('ann', ROOM, becomes(text))
    expect(await other.read('ann', ROOM)).toBe(text)
  })
}
