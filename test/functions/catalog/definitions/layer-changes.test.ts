import { expect, test } from '@jest/globals'
import { LayerChanges, totalsOf } from '../../../../functions/src/catalog/definitions/layer-changes.ts'
import type { KeptName, RecordKind } from '../../../../functions/src/catalog/definitions/layer-changes.ts'
import { revisionNumber } from '../../../../functions/src/catalog/definitions/layer-state.ts'
import type { LayerState } from '../../../../functions/src/catalog/definitions/layer-state.ts'
import {
  NO_TOTALS,
  RECORD_BYTES,
  replaced,
} from '../../../../functions/src/catalog/definitions/layer-totals.ts'

const BYTES = 1_000

function kept(kind: RecordKind, name: string, revisions: readonly number[], isDeleted = false): KeptName {
  const versions = revisions.map((revision) => ({ revision, bytes: BYTES }))
  return { kind, name, isDeleted, ownBytes: isDeleted ? RECORD_BYTES : BYTES, versions }
}

function stateWith(...names: readonly KeptName[]): LayerState {
  const totals = names.reduce((sum, name) => replaced(sum, NO_TOTALS, totalsOf(name)), NO_TOTALS)
  return { epoch: '0123456789ab', revision: 9, size: names.length, floor: 1, totals }
}

/** What is left of each name, by its revisions. */
function left(changes: LayerChanges): Record<string, readonly number[]> {
  return Object.fromEntries(
    changes.records.map((change) => [change.name.name, change.left.versions.map(({ revision }) => revision)]),
  )
}

test('the oldest versions go first, never a present one, and of one revision a definition before a module', () => {
  const names = [kept('module', 'a', [2, 5]), kept('definition', 'b', [2, 3, 6])]
  const state = stateWith(...names)
  const bytes = state.totals?.bytes ?? 0
  const shrunk = (fewer: number): Record<string, readonly number[]> => {
    const changes = new LayerChanges(state, { bytesMax: bytes - fewer * BYTES, deletedMax: 0 })
    changes.consider(names)
    changes.forget('oldest', Infinity)
    expect(changes.state.totals?.bytes).toBe(bytes - Math.min(fewer, 3) * BYTES)
    return left(changes)
  }
  expect(shrunk(0)).toEqual({})
  expect(shrunk(1)).toEqual({ b: [3, 6] })
  expect(shrunk(2)).toEqual({ a: [5], b: [3, 6] })
  expect(shrunk(9)).toEqual({ a: [5], b: [6] })
})

test('nothing goes that is newer than the names which have been considered', () => {
  const name = kept('definition', 'a', [2, 4, 6])
  const changes = new LayerChanges(stateWith(name), { bytesMax: 0, deletedMax: 0 })
  changes.consider([name])
  changes.forget('oldest', 2)
  expect(left(changes)).toEqual({ a: [4, 6] })
})

test('a deleted name goes with all of its versions, and only a definition raises the floor', () => {
  const names = [kept('module', 'm', [2, 8], true), kept('definition', 'd', [3, 7], true)]
  const state = stateWith(...names)
  const changes = new LayerChanges(state, { bytesMax: Infinity, deletedMax: 1 })
  changes.consider(names)
  changes.forget('deletedAt', Infinity)
  expect(left(changes)).toEqual({ d: [] })
  expect(changes.state).toMatchObject({ floor: 7, totals: { deleted: 1 } })
  expect([
    revisionNumber('6-0123456789ab', changes.state),
    revisionNumber('7-0123456789ab', changes.state),
  ]).toEqual([undefined, 7])
  const both = new LayerChanges(state, { bytesMax: Infinity, deletedMax: 0 })
  both.consider(names)
  both.forget('deletedAt', Infinity)
  expect(both.state).toMatchObject({ floor: 7, totals: NO_TOTALS })
})

test('of a layer that was never counted nothing goes', () => {
  const name = kept('definition', 'a', [2, 4, 6])
  const { totals: _totals, ...state } = stateWith(name)
  const changes = new LayerChanges(state, { bytesMax: 0, deletedMax: 0 })
  expect([changes.isTooLarge('oldest'), changes.isTooLarge('deletedAt')]).toEqual([false, false])
  expect(changes.state.totals).toBeUndefined()
})

test.each([
  ['of another epoch', '5-ba9876543210'],
  ['of the future', '10-0123456789ab'],
  ['below the floor', '0-0123456789ab'],
  ['that is none', '5'],
])('a reader with a revision %s reads the whole layer', (_what, revision) => {
  expect(revisionNumber(revision, stateWith())).toBeUndefined()
})

test('of a name that was read in part, the surplus goes with a new version, and the rest once it is known', () => {
  const whole = kept('definition', 'a', [2, 3, 4, 5])
  const partial = { ...kept('definition', 'a', [2, 5]), isPartial: true }
  const changes = new LayerChanges(stateWith(whole), { bytesMax: 0, deletedMax: 0 }, 10)
  const versions = [...partial.versions, { revision: 10, bytes: BYTES }]
  const record = {
    name: 'a',
    text: 'a',
    digest: 'sha256:a',
    updatedAt: '',
    updatedBy: '',
    revision: 10,
  } as const
  changes.write(partial, { ...partial, versions }, { kind: 'definition', record })
  expect(left(changes)).toEqual({ a: [5, 10] })
  expect(changes.state.totals?.bytes).toBe(totalsOf(whole).bytes)
  expect(changes.partial).toHaveLength(1)
  changes.consider([whole])
  expect(changes.partial).toHaveLength(0)
  expect(left(changes)).toEqual({ a: [2, 3, 4, 5, 10] })
})
