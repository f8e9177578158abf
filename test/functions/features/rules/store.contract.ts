import { afterEach, expect, test } from '@jest/globals'
import type { RuleOwner } from '@toolrack/contract'
import { MARKS, RuleStore, type RuleScope } from '../../../../functions/src/features/rules/rule-store.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const EVERYBODY: RuleScope = { kind: 'everybody' }
const ANN: RuleScope = { kind: 'user', uid: 'ann' }
const FLOW: RuleOwner = { kind: 'workflow', id: 'a/b' }
const BOB: RuleScope = { kind: 'user', uid: 'bob' }

function becomes(text: string | undefined) {
  return (before: string | undefined) => ({ text, result: before })
}

const version = (updatedAt: string) => ({ set: null, digest: null, updatedAt, updatedBy: 'ann' })

/** What the rules guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function stores(): readonly [RuleStore, RuleStore] {
    opened = open()
    const [one, other] = opened.documents
    return [new RuleStore(one), new RuleStore(other)]
  }

  test('a scope without rules has no text, and every scope has its own', async () => {
    const [store] = stores()
    expect(await store.read(EVERYBODY)).toBeUndefined()
    await store.change(EVERYBODY, becomes('{"of":"all"}'))
    await store.change(ANN, becomes('{"of":"ann"}'))
    await store.change(MARKS, becomes('{"of":"marks"}'))
    expect(await Promise.all([EVERYBODY, ANN, BOB, MARKS].map((scope) => store.read(scope)))).toEqual([
      '{"of":"all"}',
      '{"of":"ann"}',
      undefined,
      '{"of":"marks"}',
    ])
  })

  test('a change sees the text before it, and another instance reads the text after it', async () => {
    const [store, other] = stores()
    expect(await store.change(ANN, becomes('{"a":1}'))).toBeUndefined()
    expect(await other.read(ANN)).toBe('{"a":1}')
    expect(await other.change(ANN, becomes('{"b":1}'))).toBe('{"a":1}')
    expect(await store.change(ANN, becomes(undefined))).toBe('{"b":1}')
    expect(await other.read(ANN)).toBeUndefined()
  })

  test('the versions of each owner are kept with the change, and erased with null', async () => {
    const [store, other] = stores()
    const written = (text: string, at: string | null) =>
      store.change(ANN, () => ({ text, result: undefined, version: at === null ? null : version(at) }), FLOW)
    await written('{"a":1}', 'monday')
    await written('{"a":2}', 'tuesday')
    await written('{"a":2}', 'the same text')
    const history = async (owner: RuleOwner) =>
      (await other.history(ANN, owner)).map((one) => `${one.version} ${one.fields.updatedAt}`)
    expect(await history(FLOW)).toEqual(['2 tuesday', '1 monday'])
    expect(await history({ kind: 'workflow', id: 'other' })).toEqual([])
    await written('{"a":3}', null)
    expect(await history(FLOW)).toEqual([])
  })

  test('a text of 256 KB is kept as it is', async () => {
    const [store, other] = stores()
    const text = `{"é":"${'x'.repeat(256 * 1024)}"}`
    await store.change(EVERYBODY, becomes(text))
    expect(await other.read(EVERYBODY)).toBe(text)
  })
}
