import { expect, test } from '@jest/globals'
import type { OwnedRules } from '@toolrack/contract'
import { ruleSetDigest, ruleSetsText } from '../../../../functions/src/features/rules/kept-rules.ts'
import { RuleBook, USER_RULES_BYTES_MAX } from '../../../../functions/src/features/rules/rule-book.ts'
import { RuledCatalog } from '../../../../functions/src/features/rules/ruled-catalog.ts'
import { NO_RULES } from '../../../../functions/src/features/rules/rules-in-force.ts'
import type { RuleScope, RuleStore } from '../../../../functions/src/features/rules/rule-store.ts'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { REVISION_CHECK_MS } from '../../../../functions/src/catalog/views/layer-cache.ts'
import { layersText } from '../../../../functions/src/catalog/views/list-answer.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const ANN = { uid: 'ann' }
const EVERYBODY: RuleScope = { kind: 'everybody' }
const OF_ANN: RuleScope = { kind: 'user', uid: 'ann' }

/** The text of a scope in which this owner denies these tools. */
function denying(owner: string, ...tools: readonly string[]): string | undefined {
  const set = {
    default: 'allow' as const,
    rules: tools.map((one) => ({ effect: 'deny' as const, tool: one })),
  }
  return ruleSetsText(new Map([[owner, { set, digest: ruleSetDigest(set), updatedAt: '', updatedBy: '' }]]))
}

function namesOf(view: CatalogView): readonly string[] {
  return [...view.entries()].map(({ name }) => name)
}

/** A book over texts that the test changes, with a clock that the test moves. */
function bookOver(texts: Map<string, string | undefined> = new Map(), operator?: OwnedRules) {
  const state = {
    nowMs: 0,
    reads: 0,
    fault: undefined as Error | undefined,
    held: Promise.resolve(),
    logged: [] as string[],
  }
  const store: Pick<RuleStore, 'open' | 'read'> = {
    open: undefined,
    read: async ({ kind }) => {
      state.reads += 1
      await state.held
      if (state.fault) throw state.fault
      return texts.get(kind)
    },
  }
  const said = (message: string): void => void state.logged.push(message)
  const book = new RuleBook({
    store,
    log: { info: said, warn: said, error: said },
    operator,
    now: () => state.nowMs,
  })
  return { book, state, texts }
}

test('without rules everybody has the same rules, and a view stays the same object', async () => {
  const { book } = bookOver()
  expect(await book.of(ANN)).toBe(NO_RULES)
  const view = catalogView({ file: [tool('a')] })
  expect(view.ruledBy(NO_RULES)).toBe(view)
  const listed = new RuledCatalog({ view: () => view }, book)
  expect(listed.view({ kind: 'user', uid: 'ann', isAdmin: false })).toBe(view)
})

test('rules that could never be read refuse every call, and lists without them say so', async () => {
  const { book, state } = bookOver()
  state.fault = new Error('the store is away')
  await expect(book.of(ANN)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  const whole = catalogView({ file: [tool('a')] })
  const listed = new RuledCatalog({ view: () => whole }, book)
  const principal = { kind: 'user', uid: 'ann', isAdmin: false } as const
  const view = await listed.view(principal)
  expect(namesOf(view)).toEqual(['a'])
  expect([view.isWhole, view.hasLostRules, layersText(view)]).toEqual([
    false,
    true,
    'user=0,global=0,file=1,rules=error',
  ])
  expect(view.revision).not.toBe(whole.revision)
  expect(await listed.view(principal)).toBe(view)
  expect(await book.status(ANN)).toBe('error')
  expect(state.logged).toEqual(['rules could not be read', 'rules could not be read'])
  state.fault = undefined
  state.nowMs += REVISION_CHECK_MS
  expect(await book.of(ANN)).toBe(NO_RULES)
  expect(await listed.view(principal)).toBe(whole)
  expect(await book.status(ANN)).toBe('fresh')
})

test('the rules that can be read still hide tools from a list if others cannot', async () => {
  const operator: OwnedRules = {
    owner: { kind: 'everybody', id: 'file' },
    set: { default: 'allow', rules: [{ effect: 'deny', tool: 'a' }] },
  }
  const { book, state, texts } = bookOver(new Map(), operator)
  texts.set('everybody', denying('everybody/all', 'b'))
  const view = catalogView({ file: [tool('a'), tool('b'), tool('c')] })
  state.fault = new Error('the store is away')
  const none = await book.forList(ANN)
  expect(namesOf(view.ruledBy(none))).toEqual(['b', 'c'])
  state.fault = undefined
  texts.set('user', '{')
  state.nowMs += REVISION_CHECK_MS
  const shared = await book.forList(ANN)
  expect(namesOf(view.ruledBy(shared))).toEqual(['c'])
  expect(shared.isWhole).toBe(false)
  expect(shared.revision).not.toBe(none.revision)
  await expect(async () => book.of(ANN)).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

test('a call waits for rules for which a list has not waited', async () => {
  const { book, state } = bookOver()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.held = promise
  expect(await book.forList(ANN)).toMatchObject({ isWhole: false })
  const rules = book.of(ANN)
  expect(book.forList(ANN)).toMatchObject({ isWhole: false })
  resolve()
  expect(await rules).toBe(NO_RULES)
  expect(state.reads).toBe(2)
})

test('rules that cannot be understood are no rules that allow', async () => {
  const { book, texts } = bookOver(new Map([['user', '{"user/ann":{"set":{"default":"sometimes"}}}']]))
  await expect(book.of(ANN)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  texts.set('user', '{')
  await expect(async () => book.of(ANN)).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

test('the last good rules stay in force if the store fails', async () => {
  const { book, state, texts } = bookOver()
  texts.set('everybody', denying('everybody/all', 'a'))
  const before = await book.of(ANN)
  expect(before.owned).toHaveLength(1)
  state.fault = new Error('the store is away')
  state.nowMs += REVISION_CHECK_MS
  expect(await book.of(ANN)).toBe(before)
  expect(await book.forList(ANN)).toBe(before)
  expect(await book.status(ANN)).toBe('stale')
})

test('the store is asked once a second at most, and rules of the same text are the same object', async () => {
  const { book, state, texts } = bookOver()
  texts.set('user', denying('user/ann', 'a'))
  const before = await book.of(ANN)
  expect(state.reads).toBe(2)
  expect(await book.of(ANN)).toBe(before)
  state.nowMs += REVISION_CHECK_MS
  expect(await book.of(ANN)).toBe(before)
  expect(state.reads).toBe(4)
  texts.set('user', denying('user/ann', 'b'))
  state.nowMs += REVISION_CHECK_MS
  expect((await book.of(ANN)).revision).not.toBe(before.revision)
})

test('a change of this instance is in force at once, also if a read that began before it ends after it', async () => {
  const { book, texts } = bookOver()
  const reading = book.of(ANN)
  const text = denying('user/ann', 'a')
  texts.set('user', text)
  book.written(OF_ANN, text)
  book.written(EVERYBODY, undefined)
  expect((await reading).owned).toHaveLength(1)
  expect((await book.of(ANN)).owned).toHaveLength(1)
  expect(await book.of({ uid: 'bob' })).toBeDefined()
})

test('the rules of a workflow apply to its calls alone', async () => {
  const { book, texts } = bookOver()
  texts.set('user', denying('workflow/nightly', 'a'))
  expect((await book.of({ uid: 'ann', workflowId: 'nightly' })).owned).toHaveLength(1)
  expect(await book.of({ uid: 'ann', workflowId: 'daily' })).toBe(NO_RULES)
  expect(await book.of(ANN)).toBe(NO_RULES)
})

test('a hidden definition still hides those below it, and its alias means no other tool', async () => {
  const { book, texts } = bookOver()
  texts.set('user', denying('user/ann', 'x:y'))
  const view = catalogView({ user: [tool('x:y')], file: [tool('x:y'), tool('z')] })
  const ruled = view.ruledBy(await book.of(ANN))
  expect(namesOf(ruled)).toEqual(['z'])
  expect([ruled.resolve('x:y'), ruled.resolve('x__y')]).toEqual([undefined, undefined])
  expect(ruled.hiddenBy('x__y')).toMatchObject({
    effect: 'deny',
    owner: { kind: 'user', id: 'ann' },
    rule: 0,
  })
  expect(ruled.revision).not.toBe(view.revision)
  expect(view.ruledBy(await book.of(ANN))).toBe(ruled)
})

test('the rules in memory are bounded by their bytes, and those used last stay', async () => {
  const long = Array.from({ length: 200 }, (_, at) => `${'t'.repeat(200)}${at}`)
  const one = JSON.parse(denying('workflow/w', ...long) ?? '{}') as { readonly 'workflow/w': object }
  const sets = Array.from({ length: 5 }, (_, at) => [`workflow/w${at}`, one['workflow/w']])
  const text = JSON.stringify(Object.fromEntries(sets))
  const { book, state } = bookOver(new Map([['user', text]]))
  const fitting = Math.floor(USER_RULES_BYTES_MAX / text.length)
  for (let at = 0; at <= fitting; at += 1) await book.of({ uid: `u${at}` })
  const { reads } = state
  await book.of({ uid: `u${fitting}` })
  expect(state.reads).toBe(reads)
  await book.of({ uid: 'u0' })
  expect(state.reads).toBe(reads + 1)
})
