import { expect, test } from '@jest/globals'
import { definitionDigest, type Layer } from '@toolrack/contract'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import type { LayerState } from '../../../../functions/src/catalog/views/layer-cache.ts'
import type { LayerRead } from '../../../../functions/src/catalog/views/layer-source.ts'
import { LayerSnapshot } from '../../../../functions/src/catalog/views/layer-snapshot.ts'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { storedMark } from '../../../../functions/src/catalog/views/stored-mark.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { put, tool } from '../../../support/definition-changes.ts'

const NOTHING: LayerRead = { revision: '1', whole: true, definitions: [], deleted: [], skipped: [] }
const A = { ...put(tool('a')), revision: '3' }

/** A layer after it was read in these pieces. */
function layerAfter(layer: Layer, reads: readonly Partial<LayerRead>[]): LayerState {
  let snapshot = atOnce(LayerSnapshot.after(layer, undefined, NOTHING))
  for (const read of reads) snapshot = atOnce(LayerSnapshot.after(layer, snapshot, { ...NOTHING, ...read }))
  return { status: 'fresh', snapshot }
}

/** The mark of `a` after the global layer was read in these pieces. */
function markAfter(...reads: readonly Partial<LayerRead>[]): string | undefined {
  const [user, global, file] = [layerAfter('user', []), layerAfter('global', reads), layerAfter('file', [])]
  return storedMark(new CatalogView({ user, global, file }), 'a')
}

test('the mark of a name has the revisions at which each layer wrote or deleted it last', () => {
  const deletion = { deleted: ['a'], deletions: [{ name: 'a', revision: '4' }] }
  expect(markAfter()).toBe('- -')
  expect(markAfter({ definitions: [A] })).toBe('- 3')
  expect(markAfter({ definitions: [A] }, { whole: false, ...deletion })).toBe('- 4')
  expect(markAfter({ deletions: deletion.deletions })).toBe('- 4')
  expect(markAfter({ deletions: deletion.deletions }, { whole: false })).toBe('- 4')
  const again = { whole: false, definitions: [{ ...A, revision: '5' }] }
  expect(markAfter({ deletions: deletion.deletions }, again)).toBe('- 5')
})

test('of a name that is not known, the mark has the newest deletion that is forgotten', () => {
  expect(markAfter({ forgotten: '7' })).toBe('- 7')
  expect(markAfter({}, { whole: false, forgotten: '8' })).toBe('- 8')
  expect(markAfter({ definitions: [A], forgotten: '7' })).toBe('- 3')
})

test('the mark is the same for the holder of a grant, and unknown while a layer is lost', () => {
  const view = catalogView({ user: [tool('a')], global: [tool('a'), tool('b')] })
  const grant = grantOf([{ name: 'b', digest: definitionDigest(tool('b')) }])
  expect(storedMark(view.narrowedTo(grant), 'a')).toBe('r r')
  expect(storedMark(view.narrowedTo(grant), 'b')).toBe(storedMark(view, 'b'))
  expect(storedMark(catalogView({ user: 'error' }), 'a')).toBeUndefined()
  expect(storedMark(catalogView({ global: 'error' }), 'a')).toBeUndefined()
})
