import { expect, test } from '@jest/globals'
import { jsonPointer, pointerKeys, valueAt } from '@toolrack/contract'
import fc from 'fast-check'

/** RFC 6901, section 5. */
const EXAMPLES: [string, string[]][] = [
  ['', []],
  ['/foo', ['foo']],
  ['/foo/0', ['foo', '0']],
  ['/', ['']],
  ['/a~1b', ['a/b']],
  ['/c%d', ['c%d']],
  ['/k"l', ['k"l']],
  ['/ ', [' ']],
  ['/m~0n', ['m~n']],
  ['/~01', ['~1']],
  ['//', ['', '']],
]

test.each(EXAMPLES)('the pointer %j has the keys %j, and they have it', (pointer, keys) => {
  expect(pointerKeys(pointer)).toEqual(keys)
  expect(jsonPointer(keys)).toBe(pointer)
})

test.each(['a', 'a/b', '#/a', '/~', '/~2', '/a~', '/a~/b'])('%j is not a pointer', (text) => {
  expect(pointerKeys(text)).toBeUndefined()
})

test('the keys of a pointer are the keys it was made of', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('~', '/', '0', '1', 'a', '%', '\u20AC') })),
      (keys) => {
        expect(pointerKeys(jsonPointer(keys))).toEqual(keys)
      },
    ),
  )
})

test('an index is written as its digits', () => {
  expect(jsonPointer(['items', 0, 'x'])).toBe('/items/0/x')
})

test('what lies under keys is found, and nothing that every object has', () => {
  const value = { a: [{ b: null }], '': 1 }
  expect(valueAt(value, [])).toBe(value)
  expect(valueAt(value, ['a', '0', 'b'])).toBeNull()
  expect(valueAt(value, [''])).toBe(1)
  for (const keys of [
    ['b'],
    ['a', '1'],
    ['a', '0', 'b', 'c'],
    ['toString'],
    ['a', 'length', 'x'],
    ['__proto__'],
  ])
    expect(valueAt(value, keys)).toBeUndefined()
})
