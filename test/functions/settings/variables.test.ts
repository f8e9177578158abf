import { describe, expect, test } from '@jest/globals'
import {
  choice,
  environmentSettings,
  list,
  optional,
  parsed,
  readVariables,
  text,
  wholeNumber,
} from '../../../functions/src/settings/variables.ts'
import type { ReadVariable } from '../../../functions/src/settings/variables.ts'

/** A value as it is read, or the sentence that refuses it. */
function readAs(read: ReadVariable<unknown>, value: string | undefined): unknown {
  const { values, faults } = readVariables({ IT: read }, environmentSettings({ IT: value }))
  return faults.length > 0 ? faults.join() : values.IT
}

const port = wholeNumber(8787, 0, 65_535)
const even = parsed((value) => (Number(value) % 2 === 0 ? Number(value) : undefined), 'must be even')
const words = list(/^[a-z]+$/, 'must be words')

describe('a variable', () => {
  test.each<[string, ReadVariable<unknown>, unknown]>([
    ['text', text('a'), 'a'],
    ['a number', port, 8787],
    ['a choice', choice(['a', 'b'], 'b'), 'b'],
    ['a list', words, []],
    ['anything', optional, undefined],
    ['something made of it', even, undefined],
  ])('that is %s has a default', (_title, read, value) => {
    expect(readAs(read, undefined)).toEqual(value)
  })

  test.each<[string, ReadVariable<unknown>, unknown]>([
    ['abc', text('a', 3), 'abc'],
    ['0', port, 0],
    ['65535', port, 65_535],
    ['a', choice(['a', 'b'], 'b'), 'a'],
    [' a,, b ,', words, ['a', 'b']],
    ['x', optional, 'x'],
    ['4', even, 4],
  ])('%j is read', (value, read, expected) => {
    expect(readAs(read, value)).toEqual(expected)
  })

  test.each<[string, ReadVariable<unknown>, string]>([
    ['abcd', text('a', 3), 'must have at most 3 characters'],
    ['x', port, 'must be a number'],
    [' ', port, 'must be a number'],
    ['1.5', port, 'must be a whole number'],
    ['-1', port, 'must be from 0 to 65535'],
    ['65536', port, 'must be from 0 to 65535'],
    ['c', choice(['a', 'b'], 'b'), 'must be a or b'],
    ['a,B', words, 'must be words'],
    ['3', even, 'must be even'],
  ])('%j is refused by name and rule', (value, read, rule) => {
    expect(readAs(read, value)).toBe(`IT ${rule}`)
  })
})

test('every variable that is wrong is told, in the order of the table', () => {
  const table = { B: port, A: choice(['x'], 'x'), C: optional }
  const { faults } = readVariables(table, environmentSettings({ A: 'y', B: 'z', C: 'w' }))
  expect(faults).toEqual(['B must be a number', 'A must be x'])
})

test('a mistake in the reading is no fault of the variable', () => {
  const broken = parsed(() => {
    throw new TypeError('a bug')
  }, 'never told')
  expect(() => readVariables({ IT: broken }, environmentSettings({ IT: 'x' }))).toThrow('a bug')
})

const from = (text: string, place: string) => ({ name: 'B', text, from: place, place })

test('a later setting has priority, and an earlier one must be valid all the same', () => {
  const both = readVariables({ B: port }, [from('1', 'file'), from('2', 'B')])
  expect(both.inForce.get('B')).toEqual({ value: 2, text: '2', from: 'B' })
  const { faults, values } = readVariables({ B: port }, [from('x', 'file'), from('2', 'B')])
  expect([faults, values.B]).toEqual([['file must be a number'], 2])
  const last = readVariables({ B: port }, [from('1', 'file'), from('x', 'B')])
  expect([last.faults, last.inForce.has('B')]).toEqual([['B must be a number'], false])
})
