import { expect, test } from '@jest/globals'
import { canonicalJson } from '@toolrack/contract'
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
