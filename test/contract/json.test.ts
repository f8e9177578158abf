import { expect, test } from '@jest/globals'
import { canonicalJson, jsonPointer, pointerKeys, valueAt } from '@toolrack/contract'
import type { JsonValue } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

test.each(vectors<string, string>('canonical-json'))('canonical JSON: $title', ({ input, expected }) => {
  expect(canonicalJson(JSON.parse(input) as JsonValue)).toBe(expected)
})

const json = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' }).map((value) => value as JsonValue)

test('the canonical text reads back as an equal value and is its own canonical form', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(text)
    }),
  )
})

test('values that differ in key order only have the same canonical text', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
    }),
  )
})

test('values that differ have different canonical texts', () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      const areEqual = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      expect(canonicalJson(one) === canonicalJson(other)).toBe(areEqual)
    }),
  )
})

function reversed(value: JsonValue): JsonValue {
  return rebuilt(value, (entries) => entries.toReversed())
}

function sorted(value: JsonValue): JsonValue {
  return rebuilt(value, (entries) => entries.toSorted(([a], [b]) => a.localeCompare(b) || (a < b ? -1 : 1)))
}

type Entries = [string, JsonValue][]

function rebuilt(value: JsonValue, order: (entries: Entries) => Entries): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element: JsonValue) => rebuilt(element, order))
  return Object.fromEntries(
    order(Object.entries(value)).map(([key, member]) => [key, rebuilt(member, order)]),
  )
}

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
