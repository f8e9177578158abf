import { expect, test } from '@jest/globals'
import { isToolName, readableName, TOOL_NAME_RULE, toolNameFault } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

const cases = vectors<string, boolean>('names')

test.each(cases)('name: $title is allowed: $expected', ({ input, expected }) => {
  expect(isToolName(input)).toBe(expected)
  expect(toolNameFault(input) === undefined).toBe(expected)
})

const refused = cases.filter(({ expected }) => !expected).map(({ input }) => input)

test('no fault repeats the refused name', () => {
  const echoing = refused.filter(
    (name) => name.length > 5 && toolNameFault(name)?.replace(TOOL_NAME_RULE, '').includes(name),
  )
  expect(echoing).toEqual(['constructor', 'prototype'])
})

test.each([
  ['', 'empty'],
  ['a'.repeat(129), '129 characters'],
  ['2x', 'character 1 (U+0032)'],
  ['RE\u0410D', 'character 3 (U+0410)'],
  ['a\u200Bb', 'character 2 (U+200B)'],
  ['ab\u{1F600}', 'character 3 (U+1F600)'],
  ['__x__', 'reserved'],
])('the fault of %j says %j', (name, part) => {
  expect(toolNameFault(name)).toContain(part)
})

test('a name with a fault is not a name, and a name without one is, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 140 }), (text) => {
      expect(isToolName(text)).toBe(toolNameFault(text) === undefined)
    }),
  )
})

test('an allowed name is its own NFKC form, so that two names never differ by spelling only', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/), (name) => {
      expect(name.normalize('NFKC')).toBe(name)
    }),
  )
})

test.each(vectors<string, string>('readable-names'))('readable name: $title', ({ input, expected }) => {
  expect(readableName(input)).toBe(expected)
})

test('an allowed name is read as it is', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/), (name) => {
      expect(readableName(name)).toBe(name)
    }),
  )
})

test('a text that is too long for a name is not made readable', () => {
  const long = `${'\u0301'.repeat(60_000)}${'\u0323'.repeat(60_000)}`
  const before = process.cpuUsage()
  expect(readableName(long)).toBe(long)
  // Otherwise it is many seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
})
