import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { measureSchema } from '../../../../functions/src/catalog/schemas/admit-schema.ts'
import { doublingBomb, nestedSchema } from '../../../support/schema-shapes.ts'

function textOf(bytes: number): JsonObject {
  const empty = JSON.stringify({ description: '' }).length
  return { description: 'x'.repeat(bytes - empty) }
}

test.each<[string, JsonObject]>([
  ['an empty schema', {}],
  ['32,768 bytes', textOf(32_768)],
  ['32 levels', nestedSchema(32)],
  ['32 levels, the last one an array', { enum: [nestedList(30)] }],
  ['2,000 values', { enum: Array.from({ length: 1_998 }, (_, n) => n) }],
  ['a name of 1,012 characters', { properties: { ['k'.repeat(1_012)]: {} } }],
  ['the largest safe integer', { maximum: Number.MAX_SAFE_INTEGER, minimum: Number.MIN_SAFE_INTEGER }],
  ['fractions of any size', { maximum: 1.5e-300, minimum: -0.1 }],
])('%s passes', (_title, schema) => {
  expect(measureSchema(schema)).toBeUndefined()
})

test.each<[string, JsonObject, string, RegExp]>([
  ['32,769 bytes', textOf(32_769), '', /32769 bytes; at most 32768/],
  ['32,769 bytes of two-byte characters', { title: 'é'.repeat(16_380) }, '', /at most 32768/],
  [
    'a name of 1,013 characters',
    { properties: { ['k'.repeat(1_013)]: {} } },
    '/properties',
    /longer than 1024 characters; use shorter names/,
  ],
  ['33 levels', nestedSchema(33), '/not'.repeat(32), /deeper than 32 levels/],
  [
    '33 levels, the last one an empty array',
    { enum: [nestedList(31)] },
    `/enum${'/0'.repeat(31)}`,
    /deeper than 32/,
  ],
  ['3,000 levels', nestedSchema(3_000), '/not'.repeat(32), /deeper than 32 levels/],
  ['100,000 levels', nestedSchema(100_000), '/not'.repeat(32), /deeper than 32 levels/],
  ['2,001 values', { enum: Array.from({ length: 1_999 }, (_, n) => n) }, '', /more than 2000 values/],
  [
    'half a million values, all that a bulk can hold',
    { enum: Array.from({ length: 500_000 }, () => 0) },
    '',
    /more than 2000 values/,
  ],
  ['2^53', { properties: { n: { maximum: 2 ** 53 } } }, '/properties/n/maximum', /beyond 2\^53/],
  ['-2^53 in an enum', { enum: [0, -(2 ** 53)] }, '/enum/1', /beyond 2\^53/],
  ['1e300', { minimum: 1e300 }, '/minimum', /beyond 2\^53/],
])('%s is refused', (_title, schema, pointer, message) => {
  const fault = measureSchema(schema)
  expect(fault?.message).toMatch(message)
  expect(fault?.pointer).toBe(pointer)
})

test('a doubling bomb that would hold 2^40 leaves is refused without being written out', () => {
  expect(measureSchema(doublingBomb(40))?.message).toMatch(
    /every \$ref written out .* more than 10000 values/,
  )
})

test('the first fault in the order of writing is told', () => {
  expect(measureSchema({ a: { x: 2 ** 53 }, b: 2 ** 60 })?.pointer).toBe('/a/x')
})

function nestedList(depth: number): JsonObject[] {
  let list: unknown[] = []
  for (let level = 1; level < depth; level += 1) list = [list]
  return list as JsonObject[]
}
