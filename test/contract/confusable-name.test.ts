import { expect, test } from '@jest/globals'
import { readableName } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

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
