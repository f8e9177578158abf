import fc from 'fast-check'

/** Texts of which each character is a byte of UTF-8, for what is written as it is. */
export const utf8 = (text: string): string => Buffer.from(text).toString('latin1')

/** Texts that programs have stumbled over, as bytes. */
export const ODD_TEXTS = [
  '',
  ' ',
  '\t',
  '0',
  '-1',
  'null',
  'undefined',
  'NaN',
  '[object Object]',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '..',
  '../..',
  '$BOBS_CALL$',
  '*',
  "' OR 1=1 --",
  '"',
  '<script>',
  '%s%n',
  '${7*7}',
  'x'.repeat(129),
  'x'.repeat(10_000),
  utf8('é'),
  utf8('名前'),
  utf8('\u{1F600}'),
  utf8('ＥＣＨＯ'),
  utf8('\u202Eabc'),
  '\xff\xfe',
  '\xc0\xaf',
  '\xed\xa0\x80',
]

/** Percent-encodings, right and wrong. */
export const ENCODED = [
  '%00',
  '%0d%0a',
  '%2e%2e',
  '%2f',
  '%2F..%2f',
  '%25',
  '%252e',
  '%5c',
  '%c0%af',
  '%e0%80%af',
  '%ed%a0%80',
  '%ff',
  '%',
  '%2',
  '%zz',
  '%u0041',
  '%F0%9F%98%80',
  '%E2%80%AE',
]

export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map(utf8) },
  { weight: 1, arbitrary: fc.constantFrom(...ENCODED) },
)

/** Without what ends a header line: one more line is one more header, and that has its own arbitrary. */
export const oddValue: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: oddText.map((text) => text.replaceAll(/[\r\n\0]/g, '')) },
  { weight: 1, arbitrary: fc.constantFrom('a\0b', 'a\rb', 'a\nb', 'x'.repeat(70_000), 'x'.repeat(120_000)) },
)
