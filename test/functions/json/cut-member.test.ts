import { expect, test } from '@jest/globals'
import { cutMember } from '../../../functions/src/json/cut-member.ts'

const cut = (text: string) => cutMember(text, 'value')

test.each([
  ['alone', '{"value":1}', '{"value":null}', '1'],
  ['first', '{"value":[1,2],"a":3}', '{"value":null,"a":3}', '[1,2]'],
  ['in the middle', '{"a":{"b":[]},"value":"x","c":""}', '{"a":{"b":[]},"value":null,"c":""}', '"x"'],
  ['last', '{"a":1,"value":{"b":{}}}', '{"a":1,"value":null}', '{"b":{}}'],
  ['between spaces', ' { "a" : 1 , "value" :\n\t[ 1 ]\r } ', ' { "a" : 1 , "value" :\n\tnull\r } ', '[ 1 ]'],
  ['with an escaped name', '{"val\\u0075e":1,"a":2}', '{"val\\u0075e":null,"a":2}', '1'],
  ['behind a nested one', '{"a":{"value":1},"b":[{"value":2}],"value":3}', undefined, '3'],
  ['behind a text that looks like one', '{"a":"\\",\\"value\\":1,\\\\","value":2}', undefined, '2'],
  ['behind a name with a quote', '{"\\"value":1,"value\\\\":2,"value":3}', undefined, '3'],
  [
    'with signs in its texts',
    '{"value":["}",{"]":"\\\\\\"{,"}],"a":1}',
    '{"value":null,"a":1}',
    '["}",{"]":"\\\\\\"{,"}]',
  ],
  [
    'with what no parser takes',
    '{"value":what no parser takes,"a":1}',
    '{"value":null,"a":1}',
    'what no parser takes',
  ],
])('a member is cut out %s', (_where, text, rest, value) => {
  const found = cut(text)
  expect(found?.cut).toBe(value)
  if (rest !== undefined) expect(found?.rest).toBe(rest)
  expect(JSON.parse(found?.rest ?? '')).toMatchObject({ value: null })
})

test.each(['{}', ' { } ', '{"a":1}', '{"a":{"value":1}}', '{"Value":1,"value ":2}'])(
  '%s has no such member, and stays as it is',
  (text) => {
    expect(cut(text)).toEqual({ rest: text })
  },
)

test.each([
  '',
  ' ',
  '[{"value":1}]',
  '"value"',
  'null',
  '{"value":1',
  '{"value":"1}',
  '{"value"',
  '{"value":}',
  '{"value": ,"a":1}',
  '{"value":1]',
  '{"value":1,}',
  '{value:1}',
  '{"value" 1}',
  '{"\\x":1,"value":2}',
  '{"value":1,"value":1}',
  '{"value":1,"val\\u0075e":1}',
  '{"a":1,"value":2,"a":1}',
])('%j is no object with this member once', (text) => {
  expect(cut(text)).toBeUndefined()
})

test('the end of a string is found, wherever its quotes and backslashes stand', () => {
  for (let length = 0; length < 140; length += 1)
    for (const end of ['', '\\\\', '\\"', '\\\\\\"', '\\",\\"']) {
      const value = `"${'x'.repeat(length)}${end}"`
      expect(cut(`{"a":${value},"value":${value},"b":1}`)).toEqual({
        rest: `{"a":${value},"value":null,"b":1}`,
        cut: value,
      })
    }
})

test('what follows the object stays in the rest, for whoever parses it', () => {
  expect(cut('{"value":1} x')).toEqual({ rest: '{"value":null} x', cut: '1' })
})

test.each([
  ['quotes', `"${'\\"'.repeat(1_000_000)}"`],
  ['backslashes', `"${'\\\\'.repeat(1_000_000)}"`],
  ['backslashes without an end', `"${'\\'.repeat(2_000_001)}`],
  ['texts', `[${'"",'.repeat(700_000)}""]`],
  ['levels', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
  ['spaces', `1${' '.repeat(2_000_000)}`],
])('2 MB of %s take linear time', (_what, value) => {
  const startedMs = performance.now()
  cut(`{"a":${value},"value":${value},"b":1}`)
  expect(performance.now() - startedMs).toBeLessThan(2_000)
})

test('many names take linear time', () => {
  const members = Array.from({ length: 200_000 }, (_, index) => `"${index}":${index}`)
  const startedMs = performance.now()
  expect(cut(`{${members.join()},"value":1}`)?.cut).toBe('1')
  expect(performance.now() - startedMs).toBeLessThan(2_000)
})
