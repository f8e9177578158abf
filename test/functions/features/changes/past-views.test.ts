import { expect, test } from '@jest/globals'
import type { CatalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import type { HidingRules } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { PastViews } from '../../../../functions/src/features/changes/past-views.ts'
import type { ViewFilter } from '../../../../functions/src/catalog/views/view-filter.ts'
import { feedRevision } from '../../../../functions/src/features/changes/tool-changes.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'

const NO_RULES: HidingRules = { owned: [], isWhole: true, revision: '', hides: () => undefined }
const WHOLE = catalogView({ file: [tool('a'), tool('b')] })

/** Leaves out one tool. Each call makes another object, as reading a session does. */
function without(name: string): ViewFilter {
  const revision = name.padEnd(22, '0')
  const leavesOut = (entry: CatalogEntry) =>
    entry.name === name
      ? ({ reason: 'OUT_OF_SCOPE', message: 'The test leaves it out.' } as const)
      : undefined
  return { filter: { revision, leavesOut }, bytes: 0 }
}

function pastViews(): PastViews {
  const store = new MemoryDefinitionStore()
  return new PastViews({ catalog: { view: () => WHOLE }, store, rulesFor: () => NO_RULES })
}

const viewer = (uid: string, name: string) => ({
  uid,
  filtered: { key: name, present: () => Promise.resolve(without(name)) },
})
const namesIn = (view: { entries(): Iterable<CatalogEntry> } | undefined) =>
  view && [...view.entries()].map(({ name }) => name)

test('a filtered view is the same object as long as nothing changes', async () => {
  const views = pastViews()
  const first = await views.present(viewer('ann', 'a'))
  expect(namesIn(first)).toEqual(['b'])
  expect(await views.present(viewer('ann', 'a'))).toBe(first)
  expect(await views.present({ uid: 'ann' })).toBe(WHOLE)
})

test('a past filter is known to whom it filtered, and to nobody else', async () => {
  const views = pastViews()
  const past = feedRevision(await views.present(viewer('ann', 'a')))
  expect(past).toBe(`${WHOLE.revision}:${'a'.padEnd(22, '0')}`)
  expect(namesIn(await views.at(viewer('ann', 'b'), past))).toEqual(['b'])
  expect(namesIn(await views.at({ uid: 'ann' }, past))).toEqual(['b'])
  expect(await views.at(viewer('bob', 'b'), past)).toBeUndefined()
})

test('the present filter is known without memory, and so is that there was none', async () => {
  const present = feedRevision(await pastViews().present(viewer('ann', 'a')))
  const views = pastViews()
  await views.present({ uid: 'ann' })
  expect(await views.at(viewer('ann', 'b'), present)).toBeUndefined()
  expect(namesIn(await views.at(viewer('ann', 'a'), present))).toEqual(['b'])
  expect(namesIn(await views.at(viewer('ann', 'a'), WHOLE.revision))).toEqual(['a', 'b'])
})
