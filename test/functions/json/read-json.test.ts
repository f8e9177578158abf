import { expect, test } from '@jest/globals'
import { readJson } from '../../../functions/src/json/read-json.ts'

function read(text: string) {
  return readJson(Buffer.from(text))
}

test.each([
  ['an object', '{"a":[1,null,true,"x"]}', { a: [1, null, true, 'x'] }],
  ['a bare number', '5', 5],
  ['null', 'null', null],
  ['white space around', ' \r\n\t{} ', {}],
  ['text beyond ASCII', '"\u20AC\u{1F600}"', '\u20AC\u{1F600}'],
  ['an escaped byte order mark inside a string', String.raw`"\ufeff"`, '\uFEFF'],
  [
    'numbers as JavaScript reads them',
    '[1.0,1e2,-0.5,12345678901234567890]',
    [1, 100, -0.5, Number('12345678901234567890')],
  ],
  ['the largest number', '1.7976931348623157e308', Number.MAX_VALUE],
  ['a number too small to tell from zero', '1e-400', 0],
  ['digits in a string', '"1e400"', '1e400'],
])('%s is read', (_title, text, value) => {
  expect(read(text)).toEqual({ value })
})

test.each([
  ['no bytes', '', 'is empty'],
  ['white space only', ' \n', 'is empty'],
  ['a byte order mark', '\uFEFF{}', 'starts with a byte order mark; send plain UTF-8'],
  ['NaN', '{"a":NaN}', 'is not valid JSON (line 1, column 6)'],
  ['Infinity', '{"a":\n Infinity}', 'is not valid JSON (line 2, column 2)'],
  ['-Infinity', '[-Infinity]', 'is not valid JSON (line 1, column 3)'],
  ['a text that ends too early', '{"a":[1', 'is not valid JSON (it ends too early)'],
  ['a comma too many', '{"a":1,}', 'is not valid JSON (line 1, column 8)'],
  ['text after the value', '{}\n\n  x', 'is not valid JSON (line 3, column 3)'],
  ['a form', 'name=x&description=y', 'is not valid JSON (line 1, column 2)'],
  ['single quotes', "{'a':1}", 'is not valid JSON (line 1, column 2)'],
  ['a comment', '// x\n{}', 'is not valid JSON (line 1, column 1)'],
  ['a raw line feed in a string', '"a\nb"', 'is not valid JSON (line 1, column 3)'],
])('%s is refused', (_title, text, message) => {
  expect(read(text)).toEqual({ fault: { pointer: '', message } })
})

test.each([
  ['a lone continuation byte', [0x22, 0x80, 0x22]],
  ['a cut sequence', [0x22, 0xe2, 0x82, 0x22]],
  ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
  ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['Latin-1', [0x22, 0xe9, 0x22]],
  ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
])('%s is not UTF-8', (_title, bytes) => {
  expect(readJson(Uint8Array.from(bytes))).toEqual({ fault: { pointer: '', message: 'is not UTF-8' } })
})

test.each(['1e400', '-1e400', '9'.repeat(400)])(
  'a number that JSON allows and no computer holds is refused, not stored as null: %s',
  (number) => {
    expect(read(`{"a":[0,${number}]}`)).toEqual({
      fault: { pointer: '/a/1', message: 'holds a number that is too large to be read' },
    })
  },
)

test('a fault does not repeat what was sent', () => {
  const faults = ['{"a":SECRET}', 'SECRET', '{"SECRET" 1}', '"SECRET'].map(read)
  expect(faults.every((found) => 'fault' in found)).toBe(true)
  expect(JSON.stringify(faults)).not.toContain('SECRET')
})
