import { expect, test } from '@jest/globals'
import { aliasOf } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

const cases = vectors<string, string>('aliases')
const VENDOR_NAME = /^[A-Za-z0-9_-]{1,64}$/
const toolNames = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/)

test.each(cases)('alias: $title', ({ input, expected }) => {
  expect(aliasOf(input)).toBe(expected)
})

test('no two names of the vectors share an alias', () => {
  expect(new Set(cases.map(({ expected }) => expected)).size).toBe(cases.length)
})

test('an alias is always a name that vendors allow', () => {
  fc.assert(fc.property(toolNames, (name) => expect(aliasOf(name)).toMatch(VENDOR_NAME)))
})

test('an alias is the same each time, and its own alias', () => {
  fc.assert(
    fc.property(toolNames, (name) => {
      expect(aliasOf(name)).toBe(aliasOf(name))
      expect(aliasOf(aliasOf(name))).toBe(aliasOf(name))
    }),
  )
})

test('a name that vendors allow is never changed', () => {
  fc.assert(fc.property(fc.stringMatching(VENDOR_NAME), (name) => expect(aliasOf(name)).toBe(name)))
})

test('names that vendors do not allow share an alias only around a colon beside an underscore', () => {
  const names = toolNames.filter((name) => !VENDOR_NAME.test(name) && !/:_|_:/.test(name))
  fc.assert(
    fc.property(fc.uniqueArray(names, { minLength: 2, maxLength: 40 }), (found) => {
      expect(new Set(found.map(aliasOf)).size).toBe(found.length)
    }),
  )
})

test('the known collisions: a colon name with the name of its alias, and a_:b with a:_b', () => {
  expect(aliasOf('a:b')).toBe(aliasOf('a__b'))
  expect(aliasOf('a_:b')).toBe(aliasOf('a:_b'))
})
