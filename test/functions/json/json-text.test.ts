import { expect, test } from '@jest/globals'
import { jsonOf, JsonText, toolResultOfJson } from '../../../functions/src/json/json-text.ts'

test('a value in which nothing is a text of JSON is written as JSON.stringify writes it', () => {
  const value = { a: [1, null, { b: 'c"' }], d: undefined, e: new Date(0) }
  expect(jsonOf(value)).toBe(JSON.stringify(value))
})

test('each text stands at its place as it was written, numbers as they are', () => {
  const texts = ['{"a": 1.0}', '9007199254740993', '[]'].map((text) => new JsonText(text))
  expect(jsonOf({ first: texts[0], list: [texts[1], 'x', texts[2]], last: '"' })).toBe(
    '{"first":{"a": 1.0},"list":[9007199254740993,"x",[]],"last":"\\""}',
  )
  expect(jsonOf(texts[1])).toBe('9007199254740993')
})

test('JSON.stringify makes the value of it, also after a value that could not be written', () => {
  const text = new JsonText('{"a": 1.0}')
  expect(JSON.stringify({ text })).toBe('{"text":{"a":1}}')
  expect(() => jsonOf({ text, big: 1n })).toThrow(TypeError)
  expect(JSON.stringify({ text })).toBe('{"text":{"a":1}}')
})

test.each([
  ['{"a":1,"b":[-12.5,0,9007199254740991],"c":"9007199254740993"}', true],
  ['["a,12345678901234567"]', true],
  ['[1e-7]', true],
  ['false', true],
  ['null', false],
  ['[9007199254740993]', false],
  ['9007199254740993', false],
  ['{"a": -90071992547409930}', false],
  ['[1e20]', false],
  ['[1.5E+30]', false],
])('whether JavaScript reads %s exactly: %s', (text, expected) => {
  expect(new JsonText(text).isExact()).toBe(expected)
})

test('a long text is not parsed for it: a string that looks like such a number counts as one', () => {
  const filler = ','.padEnd(20_000, '1,').slice(1)
  expect(new JsonText(`[${filler}"a"]`).isExact()).toBe(true)
  expect(new JsonText(`[${filler}"a,12345678901234567"]`).isExact()).toBe(false)
})

test('JSON that another language has written is the text as it is, and the data too', () => {
  const json = '{"id": 9007199254740993, "mean": 1.0, "10": 1}'
  const result = toolResultOfJson(json)
  expect(result).toMatchObject({ resultType: 'success', textResultForLlm: json })
  expect(jsonOf(result)).toBe(
    `{"resultType":"success","textResultForLlm":${JSON.stringify(json)},"data":${json}}`,
  )
})
