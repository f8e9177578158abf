import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import fc from 'fast-check'
import { FilteredLines } from '../../../functions/src/redaction/filtered-lines.ts'
import { printedFilter } from '../../../functions/src/redaction/known-secrets.ts'
import { NOT_SENSITIVE, sensitivityOf } from '../../../functions/src/redaction/sensitive.ts'
import { BEGINNINGS } from '../../support/bad-texts.ts'
import { randomNumbers } from '../../support/random-numbers.ts'

const MARKS = sensitivityOf(
  JSON.stringify({ function: { parameters: { properties: { note: { 'x-sensitive': true } } } } }),
)
const filter = (args: JsonObject, marks = NOT_SENSITIVE) => printedFilter(args, marks)

test.each<[string, JsonObject, string]>([
  ['under the name of a secret', { password: 'plain words' }, 'plain words'],
  ['a number under such a name', { pin: 471_100 }, '471100'],
  ['that the schema marks', { note: 'the blue door' }, 'the blue door'],
  ['in what is under such a name', { credentials: { user: ['mister x'] } }, 'mister x'],
  ['in JSON inside of a text', { body: '{"a":{"api_key":"not a shape"}}' }, 'not a shape'],
  ['in a query', { url: 'https://h.example/?token=abcdwxyz&b=1' }, 'abcdwxyz'],
  ['the password of a URL', { url: 'https://me:opensesame@h.example/' }, 'opensesame'],
  ['in a header', { headers: [['Authorization', 'Token quux9']] }, 'Token quux9'],
])('a secret of the arguments, %s, is not in what is printed', (_what, args, secret) => {
  const clean = filter(args, MARKS)
  for (const spelled of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
    expect(clean(`before <${spelled}> after`)).toMatch(/^before <\[redacted\]=*> after$/)
  expect(clean('nothing of it')).toBe('nothing of it')
})

test('the secrets of the context are removed, and JSON and Python spell line breaks in their way', () => {
  expect(printedFilter({}, NOT_SENSITIVE, { token: 'of caller' })('it is of caller')).toBe('it is [redacted]')
  expect(filter({ secret: 'two\nlines' })('said "two\\nlines"')).toBe('said "[redacted]"')
})

test('a secret with other letters than those of ASCII is found as Python writes it in JSON and in addresses', () => {
  const clean = filter({ password: 'schön/süß>>>' })
  for (const spelled of [
    String.raw`sch\u00f6n/s\u00fc\u00df>>>`,
    'sch%C3%B6n/s%C3%BC%C3%9F%3E%3E%3E',
    Buffer.from('schön/süß>>>').toString('base64url'),
  ])
    expect(clean(`before ${spelled} after`)).toBe('before [redacted] after')
})

test('short values stay, and with too many secrets nothing of the text stays', () => {
  expect(filter({ pin: 'abc' })('abc')).toBe('abc')
  const many = { secrets: Array.from({ length: 300 }, (_, at) => `secret ${at}`) }
  expect(filter(many)('harmless')).toBe('[redacted]\n')
})

test('of what a tool prints nothing is shown if its secrets are too long together, and longer ones than it can print are not looked for', () => {
  const long = filter({ secrets: Array.from({ length: 100 }, (_, at) => `${at} ${'x'.repeat(2_000)}`) })
  expect([long('harmless'), long('')]).toEqual(['[redacted]\n', ''])
  const lines = new FilteredLines(long)
  expect([lines.take('harm'), lines.take('less\n'), lines.end()]).toEqual(['', '', '[redacted]\n'])
  expect(filter({ secret: 'x'.repeat(200_000) })('harmless')).toBe('harmless')
  const whole = printedFilter({ secret: 'y '.repeat(50_000) }, NOT_SENSITIVE, {}, 100_000)
  expect(whole(`is ${'y '.repeat(50_000)}`)).toBe('is [redacted]')
})

const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIBcanarycanary\ncanarycanary\n-----END RSA PRIVATE KEY-----\n'
const PRINTED = `begun\n${PEM}key=plain\npassword:\n  canary\nAuthorization: Bearer canarycanary\n ghp_canarycanary and two\nlines canary end\nBearer\ncanarycanarycanary\ndone`
const clean = (): ReturnType<typeof filter> => filter({ secret: 'two\nlines canary', password: 'canary' })

test('a text in parts has no secret, wherever it is cut, and the rest of it is whole', () => {
  const random = randomNumbers(7)
  for (let round = 0; round < 300; round += 1) {
    const lines = new FilteredLines(clean())
    let shown = ''
    for (let from = 0; from < PRINTED.length;) {
      const length = 1 + Math.floor(random() * (round % 2 === 0 ? 4 : 60))
      shown += lines.take(PRINTED.slice(from, from + length))
      from += length
    }
    shown += lines.end()
    expect(shown).not.toContain('canary')
    expect(shown).toMatch(/^begun\n\[redacted\]\nkey=plain\n[^]*\ndone$/)
  }
})

/** Parts of texts in which secrets begin, go on and end in every way. */
const PARTS = [
  BEGINNINGS,
  [
    'canary',
    'can',
    'ary',
    'two\nlines canary',
    'two\n',
    'lines ',
    'name: password\n',
    'value: x\n',
    '\n  ',
    '\n- ',
  ],
  [
    '"',
    "'",
    '"""',
    '}',
    ']',
    '-----END RSA PRIVATE KEY-----',
    '{"password":"canary"}\n',
    '{"a":[1]}\n',
    ' text ',
    'y\n',
  ],
].flat()

test('whatever is printed in whatever parts, what is shown is that of the whole text', () => {
  const printed = fc.array(fc.constantFrom(...PARTS), { maxLength: 14 }).map((parts) => parts.join(''))
  const cuts = fc.array(fc.nat(40), { maxLength: 40 })
  fc.assert(
    fc.property(printed, cuts, (text, lengths) => {
      const lines = new FilteredLines(clean())
      let shown = ''
      let from = 0
      for (const length of lengths) {
        shown += lines.take(text.slice(from, from + length))
        from += length
      }
      shown += lines.take(text.slice(from)) + lines.end()
      const whole = new FilteredLines(clean())
      expect([text, shown]).toEqual([text, whole.take(text) + whole.end()])
      expect(shown).not.toContain('canary')
      // A text that is JSON as a whole is written anew.
      if (!/^\s*[[{]/.test(text)) expect([text, shown]).toEqual([text, clean()(text)])
    }),
    { numRuns: 3_000 },
  )
})

test('secrets that overlap each other are removed together', () => {
  const both = filter({ password: 'abcdef', secret: 'defghi' })
  expect(both('x abcdefghi y abcdef defghi')).toBe('x [redacted] y [redacted] [redacted]')
  expect(filter({ password: 'aaaa' })(`b${'a'.repeat(100)}b`)).toBe('b[redacted]b')
})

test('a whole line is shown at once, and an unfinished one at the end', () => {
  const lines = new FilteredLines(filter({}))
  expect([lines.take('one\ntw'), lines.take('o: 3\n'), lines.take('end'), lines.end(), lines.end()]).toEqual([
    'one\n',
    'two: 3\n',
    '',
    'end',
    '',
  ])
})

test('a line without an end is not held for ever', () => {
  const lines = new FilteredLines(filter({}))
  expect(lines.take('x'.repeat(64 * 1024))).toBe('')
  expect(lines.take('y')).toHaveLength(64 * 1024 + 1)
})
