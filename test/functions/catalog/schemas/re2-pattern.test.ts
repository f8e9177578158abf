import { expect, test } from '@jest/globals'
import { patternFault, re2Pattern } from '../../../../functions/src/catalog/schemas/re2-pattern.ts'

test.each([
  '',
  '^a$',
  '^[a-z]{2,8}$',
  String.raw`^\d{4}-\d{2}$`,
  '(?<year>[0-9]+)',
  '^(a+)+$',
  String.raw`\p{L}`,
  'a{1,1000}',
  'x'.repeat(1_024),
])('the pattern %j is enforced', (source) => {
  expect(patternFault(source)).toBeUndefined()
})

test.each([
  ['look-ahead', '^(?=.*[A-Z]).+$'],
  ['negative look-ahead', '^(?!admin)'],
  ['look-behind', '(?<=a)b'],
  ['negative look-behind', '(?<!a)b'],
  ['a back-reference', String.raw`^(a)\1$`],
  ['a named back-reference', String.raw`(?<q>a)\k<q>`],
  ['more than 1,000 repetitions', '^a{1001}$'],
  ['repetitions of repetitions', '((a{100}){100}){100}'],
])('%s is a pattern that is not enforced', (_title, source) => {
  expect(patternFault(source)?.kind).toBe('unenforced')
})

test.each(['(', '[', '*', 'a{2,1}', '\\', '[z-a]'])('%j is no pattern at all', (source) => {
  expect(patternFault(source)).toEqual({
    kind: 'invalid',
    message: 'the pattern is not a regular expression',
  })
})

test('a pattern of 1,025 characters is refused', () => {
  expect(patternFault('x'.repeat(1_025))?.kind).toBe('invalid')
})

test('^(a+)+$ answers for 50,000 characters, which would keep a backtracking engine busy for ever', () => {
  const pattern = re2Pattern('^(a+)+$')
  expect(pattern.test('a'.repeat(50_000))).toBe(true)
  expect(pattern.test(`${'a'.repeat(50_000)}!`)).toBe(false)
})

test('a pattern matches anywhere unless it is anchored, as JSON Schema wants it', () => {
  expect(re2Pattern('b').test('abc')).toBe(true)
  expect(re2Pattern('^b$').test('abc')).toBe(false)
  expect(re2Pattern('^b$').test('b\n')).toBe(false)
})
