import { afterEach, expect, test } from '@jest/globals'
import { MARKS, type RuleScope, type RuleStore } from '../../functions/src/features/rules/rule-store.ts'
import type { TwoStores } from './two-stores.ts'

const EVERYBODY: RuleScope = { kind: 'everybody' }
const ANN: RuleScope = { kind: 'user', uid: 'ann' }
const BOB: RuleScope = { kind: 'user', uid: 'bob' }

function becomes(text: string | undefined) {
  return (before: string | undefined) => ({ text, result: before })
}

/** What every store of rules guarantees. */
export function ruleStoreContract(open: () => Promise<TwoStores<RuleStore>>): void {
  let opened: TwoStores<RuleStore> | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  async function stores(): Promise<readonly [RuleStore, RuleStore]> {
    opened = await open()
    return opened.stores
  }

  test('a scope without rules has no text, and every scope has its own', async () => {
    const [store] = await stores()
    expect(await store.read(EVERYBODY)).toBeUndefined()
    await store.change(EVERYBODY, becomes('all'))
    await store.change(ANN, becomes('of ann'))
    await store.change(MARKS, becomes('marks'))
    expect(await Promise.all([EVERYBODY, ANN, BOB, MARKS].map((scope) => store.read(scope)))).toEqual([
      'all',
      'of ann',
      undefined,
      'marks',
    ])
  })

  test('a change sees the text before it, and another instance reads the text after it', async () => {
    const [store, other] = await stores()
    expect(await store.change(ANN, becomes('a'))).toBeUndefined()
    expect(await other.read(ANN)).toBe('a')
    expect(await other.change(ANN, becomes('b'))).toBe('a')
    expect(await store.change(ANN, becomes(undefined))).toBe('b')
    expect(await other.read(ANN)).toBeUndefined()
  })

  test('a plan that throws writes nothing, and its error reaches the caller', async () => {
    const [store] = await stores()
    await store.change(ANN, becomes('a'))
    const refused = store.change(ANN, () => {
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await store.read(ANN)).toBe('a')
  })

  test('changes of two instances at once all happen, one after the other', async () => {
    const [store, other] = await stores()
    const changes = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? store : other).change(ANN, (before = '') => ({
        text: `${before}x`,
        result: undefined,
      })),
    )
    await Promise.all(changes)
    expect(await store.read(ANN)).toBe('x'.repeat(10))
  })

  test('a text of 256 KB is kept as it is', async () => {
    const [store, other] = await stores()
    const text = `é${'x'.repeat(256 * 1024 - 2)}`
    await store.change(EVERYBODY, becomes(text))
    expect(await other.read(EVERYBODY)).toBe(text)
  })
}
