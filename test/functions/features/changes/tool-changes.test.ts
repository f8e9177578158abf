import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { changesBetween } from '../../../../functions/src/features/changes/tool-changes.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { randomNumbers } from '../../../support/random-numbers.ts'

const ALL = {
  names: 'all',
  tags: new Set<string>(),
  categories: new Set<string>(),
  withSearch: false,
} as const

const digestsIn = (view: CatalogView, names: string | readonly string[] = 'all'): Record<string, string> =>
  Object.fromEntries(
    [...view.entries()]
      .filter(({ name }) => names === 'all' || names.includes(name))
      .map((entry) => [entry.name, entry.digest]),
  )

/** A view with some of ten tools in each layer, some of them in more than one layer, and some sealed. */
function someView(random: () => number): CatalogView {
  const layer = (): ToolDefinition[] =>
    Array.from({ length: 10 }, (_, index) => ({
      ...tool(`t${index}`, `Version ${Math.floor(random() * 3)}.`),
      ...(random() < 0.2 && { sealed: true }),
    })).filter(() => random() < 0.5)
  return catalogView({ user: layer(), global: layer(), file: layer() })
}

/** The view without some of its tools. Equal revisions leave out the same tools. */
function narrowed(view: CatalogView, random: () => number): CatalogView {
  const by = Math.floor(random() * 4)
  const leavesOut = ({ name }: { readonly name: string }) =>
    Number(name.slice(1)) % 3 === by
      ? ({ reason: 'OUT_OF_SCOPE', message: 'The test leaves it out.' } as const)
      : undefined
  return by === 3 ? view : view.filteredBy({ revision: `n${by}`, leavesOut })
}

/** Two views. In half of the rounds they have the same layers, so that only what narrows them differs. */
function pair(random: () => number): readonly [CatalogView, CatalogView] {
  const before = someView(random)
  const after = random() < 0.5 ? before : someView(random)
  return [narrowed(before, random), narrowed(after, random)]
}

test.each([['all'], [['t1', 't2', 't99']]] as const)(
  'the changes between two views make the new list out of the old one, with names %j',
  async (names) => {
    const random = randomNumbers(19)
    const filter = { ...ALL, names: names === 'all' ? names : new Set<string>(names) }
    let moved = 0
    for (let round = 0; round < 600; round += 1) {
      const [before, after] = pair(random)
      const { added, changed, removed } = await changesBetween(before, after, filter)
      const list = digestsIn(before, names)
      for (const { name } of added) expect(list[name]).toBeUndefined()
      for (const { name, digest } of changed) expect(list[name]).not.toBe(digest)
      for (const name of removed) {
        expect(list[name]).toBeDefined()
        delete list[name]
      }
      for (const { name, digest } of [...added, ...changed]) list[name] = digest
      expect(list).toEqual(digestsIn(after, names))
      moved += added.length + changed.length + removed.length
    }
    expect(moved).toBeGreaterThan(100)
  },
)

test('a tool that rules hide is removed, and added again when they do not hide it any more', async () => {
  const view = catalogView({ user: [tool('a'), tool('b')] })
  const ruled = view.ruledBy({
    owned: [{}],
    isWhole: true,
    revision: 'r1',
    hides: ({ name }) => (name === 'a' ? { effect: 'deny', rule: 0, owner: null, reason: 'no' } : undefined),
  })
  expect(await changesBetween(view, ruled, ALL)).toMatchObject({ added: [], changed: [], removed: ['a'] })
  expect(await changesBetween(ruled, view, ALL)).toMatchObject({
    added: [{ name: 'a' }],
    changed: [],
    removed: [],
  })
})

test('a filter by tag and category leaves out the other tools', async () => {
  const before = catalogView({ file: [tool('plain')] })
  const after = catalogView({
    file: [{ ...tool('plain', 'Changed.') }, { ...tool('tagged'), tags: ['x'], category: 'c' }],
  })
  const changes = await changesBetween(before, after, {
    ...ALL,
    tags: new Set(['x']),
    categories: new Set(['c']),
  })
  expect(changes).toMatchObject({ added: [{ name: 'tagged' }], changed: [], removed: [] })
})
