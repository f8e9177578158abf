import { expect, test } from '@jest/globals'
import { ERROR_CODES } from '@toolrack/contract'
import type { ErrorCode, ErrorKind } from '@toolrack/contract'
import { vectors } from '../support/vectors.ts'

const cases = vectors<ErrorCode, Omit<ErrorKind, 'text'>>('errors')

test('the list of errors is closed: no code is missing from the vectors and none is extra', () => {
  expect(Object.keys(ERROR_CODES).toSorted()).toEqual(cases.map(({ input }) => input).toSorted())
})

test.each(cases)('error: $title', ({ input, expected }) => {
  expect(ERROR_CODES[input]).toEqual({ ...expected, text: ERROR_CODES[input].text })
})

test.each(Object.entries(ERROR_CODES))(
  'the public text of %s is one line that ends like a sentence',
  (_code, { text }) => {
    expect(text).toMatch(/^[A-Z][^\n]{10,150}\.$/)
  },
)
