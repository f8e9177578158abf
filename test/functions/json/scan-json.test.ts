import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readJson } from '../../../functions/src/json/read-json.ts'
import { scanJson } from '../../../functions/src/json/scan-json.ts'

const nested = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth)

test.each([
  ['twice at the root', '{"a":1,"a":2}', '/a'],
  ['twice below', '{"x":[{},{"a":{"b":1,"c":2,"b":3}}]}', '/x/1/a/b'],
  ['once plain and once escaped', String.raw`{"a":1,"\u0061":2}`, '/a'],
  ['escaped in two ways', String.raw`{"\u0061b":1,"a\u0062":2}`, '/ab'],
  ['twice and empty', '{"":1,"":2}', '/'],
  ['twice with a quote in it', String.raw`{"\"":1,"\"":2}`, '/"'],
  ['twice with a backslash at its end', String.raw`{"a\\":1,"a\\":2}`, '/a\\'],
  ['twice with a slash in it', '{"a/b":1,"a/b":2}', '/a~1b'],
  ['twice with an object between', '{"a":{"a":1},"a":2}', '/a'],
  ['twice inside a schema', '{"parameters":{"properties":{"x":1,"x":2}}}', '/parameters/properties/x'],
])('a key %s in one object is found', (_title, text, pointer) => {
  expect(scanJson(text)).toEqual({ pointer, message: expect.stringMatching(/the same key twice/) })
})

test.each([
  ['plain', '{"__proto__":{"isAdmin":true}}', '/__proto__'],
  ['escaped', String.raw`{"x":{"\u005f_proto\u005F_":1}}`, '/x/__proto__'],
  ['inside a schema', '{"parameters":{"properties":{"__proto__":{}}}}', '/parameters/properties/__proto__'],
  ['in a list', '[0,{"__proto__":1}]', '/1/__proto__'],
])('the key __proto__ is found: %s', (_title, text, pointer) => {
  expect(scanJson(text)).toEqual({ pointer, message: expect.stringMatching(/__proto__/) })
})

test.each([
  ['the same key in two objects', '[{"a":1},{"a":2},{"b":{"a":{"a":1}}}]'],
  ['a value that is a key', '{"a":"b","b":"a"}'],
  ['__proto__ as a value', '{"a":"__proto__","b":["__proto__"]}'],
  ['brackets and commas in strings', String.raw`{"a":"[{,\"a\":1","b":"}]","c":"\\"}`],
  ['constructor as a key', '{"constructor":1,"toString":2,"hasOwnProperty":3}'],
  ['keys that differ in case or accents', String.raw`{"a":1,"A":2,"\u00e9":3,"e\u0301":4}`],
  ['32 levels', nested(32)],
  ['32 levels of objects', `${'{"a":'.repeat(31)}{}${'}'.repeat(31)}`],
  ['many lists side by side', `[${'[],'.repeat(1_000)}[]]`],
  ['33 levels below parameters', `{"function":{"parameters":{"x":${nested(33)}}}}`],
  ['33 levels below inputSchema', `{"inputSchema":${nested(33)}}`],
  ['33 levels below input_schema', `[{"input_schema":${nested(33)}}]`],
  ['33 levels below parametersJsonSchema', `{"parametersJsonSchema":${nested(33)}}`],
])('%s passes', (_title, text) => {
  expect(scanJson(text)).toBeUndefined()
})

test('with a depth of its own, a text has no schemas in which it may be deeper', () => {
  for (const key of ['parameters', 'inputSchema', 'input_schema', 'parametersJsonSchema'])
    expect(scanJson(`{"${key}":${nested(64)}}`, 64)).toEqual({
      pointer: `/${key}${'/0'.repeat(63)}`,
      message: 'is nested deeper than 64 levels',
    })
  expect(scanJson(`{"parameters":${nested(63)}}`, 64)).toBeUndefined()
})

test.each([
  ['33 levels of lists', nested(33), '/0'.repeat(32)],
  ['33 levels of objects', `${'{"a":'.repeat(32)}{}${'}'.repeat(32)}`, '/a'.repeat(32)],
  ['33 levels behind a schema', `{"parameters":{},"x":${nested(32)}}`, `/x${'/0'.repeat(31)}`],
  [
    '33 levels below a value that is called parameters',
    `{"x":"parameters","y":${nested(32)}}`,
    `/y${'/0'.repeat(31)}`,
  ],
])('%s are refused where the 33rd begins', (_title, text, pointer) => {
  expect(scanJson(text)).toEqual({ pointer, message: 'is nested deeper than 32 levels' })
})

test.each([
  ['lists', nested(100_000)],
  ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
])('100,000 nested %s are refused without a crash', (_title, text) => {
  expect(readJson(Buffer.from(text))).toEqual({
    fault: { pointer: expect.any(String), message: 'is nested deeper than 32 levels' },
  })
})

test('100,000 levels below parameters are read, for the schema limits to refuse', () => {
  const text = `{"parameters":${nested(100_000)}}`
  expect('value' in readJson(Buffer.from(text))).toBe(true)
})

test('what JSON.stringify writes is accepted, indented or not', () => {
  const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }).filter((value) => !hasProto(value))
  fc.assert(
    fc.property(json, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      expect(scanJson(JSON.stringify(value, undefined, space))).toBeUndefined()
    }),
  )
})

test('a key that is written again anywhere in an object is found', () => {
  const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(keys, fc.nat(), fc.jsonValue({ maxDepth: 2 }), (found, pick, value) => {
      const again = found[pick % found.length] ?? ''
      const members = [...found, again].map((key) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
      fc.pre(!found.includes('__proto__') && !hasProto(value))
      expect(scanJson(`{${members.join()}}`)?.message).toMatch(/the same key twice/)
    }),
  )
})

function hasProto(value: unknown): boolean {
  return JSON.stringify(value).includes('__proto__')
}
