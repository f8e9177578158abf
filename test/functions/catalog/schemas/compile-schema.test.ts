import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { createCompileSchema } from '../../../../functions/src/catalog/schemas/compile-schema.ts'

const compile = createCompileSchema()
const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const tuple = { properties: { a: { type: 'array', items: [{ type: 'string' }], additionalItems: false } } }

test.each<[string, JsonObject]>([
  ['the empty schema', {}],
  ['2020-12 by name', { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{}] }],
  ['2020-12 by http and with a hash', { $schema: 'http://json-schema.org/draft/2020-12/schema#' }],
  ['draft-07 by name', { $schema: DRAFT_07, ...tuple }],
  ['draft-07 by https and without a hash', { $schema: 'https://json-schema.org/draft-07/schema', ...tuple }],
  [
    'keywords of nobody',
    { 'x-own': { a: 1 }, optional: true, properties: { a: { optional: true, example: 1 } } },
  ],
  ['formats that nobody knows', { properties: { a: { type: 'string', format: 'no-such-format' } } }],
  [
    'a type that does not go with a keyword',
    { properties: { a: { minLength: 3 }, b: { type: ['string', 'number'] } } },
  ],
  ['required without a property', { required: ['missing'] }],
  [
    "OpenAPI's nullable, with and without a type",
    { properties: { a: { nullable: true }, b: { nullable: true, type: 'string' } } },
  ],
  ['the id of draft-04', { id: 'x', properties: { id: { id: 'y' } } }],
  ['true and false', { properties: { a: true, b: false }, additionalProperties: false }],
  [
    'discriminator',
    { discriminator: { propertyName: 'kind' }, oneOf: [{ properties: { kind: { const: 'a' } } }] },
  ],
  ['a root with $id, of a meta-schema even', { $id: 'https://json-schema.org/draft/2020-12/schema' }],
  ['a pattern that only RE2 knows', { properties: { a: { pattern: '(?i)abc' } } }],
])('%s compiles', (_title, schema) => {
  expect(compile(schema)).toEqual({ faults: [], unenforced: [] })
})

test.each<[string, JsonObject, string, RegExp]>([
  ['required that is a text', { required: 'x' }, '/required', /must be array; required is a list of names/],
  [
    'required that is a flag of a property',
    { properties: { a: { required: true } } },
    '/properties/a/required',
    /list of names beside properties/,
  ],
  [
    'an unknown type',
    { properties: { a: { type: 'datetime' } } },
    '/properties/a/type',
    /allowed values \(array, boolean, integer, null, number, object, string\)/,
  ],
  ['properties that are a list', { properties: [] }, '/properties', /must be object/],
  [
    'a property that is a text',
    { properties: { a: 'string' } },
    '/properties/a',
    /must be object or boolean/,
  ],
  [
    'a tuple of draft-07 in 2020-12',
    tuple,
    '/properties/a/items',
    /for a tuple write prefixItems, or name draft-07 in \$schema/,
  ],
  [
    'exclusiveMinimum of draft-04',
    { properties: { a: { minimum: 1, exclusiveMinimum: true } } },
    '/properties/a/exclusiveMinimum',
    /write the number itself/,
  ],
  [
    'a negative maxLength',
    { properties: { 'a/b': { maxLength: -1 } } },
    '/properties/a~1b/maxLength',
    />= 0/,
  ],
  ['an enum that is a text', { properties: { a: { enum: 'x' } } }, '/properties/a/enum', /must be array/],
  ['a fault below draft-07', { $schema: DRAFT_07, items: { type: 'x' } }, '/items/type', /allowed values/],
  [
    'a pattern that is none',
    { properties: { a: { pattern: '(' } } },
    '/properties/a/pattern',
    /not a regular expression/,
  ],
  [
    'an unknown $schema',
    { $schema: 'http://json-schema.org/draft-04/schema#' },
    '/$schema',
    /draft\/2020-12\/schema .*\/draft-07\//,
  ],
  ['a $schema that is no text', { $schema: 7 }, '/$schema', /must be https/],
  ['a $schema with more behind it', { $schema: `${DRAFT_07}x` }, '/$schema', /must be https/],
])('%s does not compile', (_title, schema, pointer, message) => {
  const { faults } = compile(schema)
  expect(faults[0]).toEqual({ pointer, message: expect.stringMatching(message) })
})

test('each place has one fault, and ten are enough', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [`p${n}`, { type: 'x', maxLength: -1 }]),
  )
  const { faults } = compile({ properties })
  expect(faults).toHaveLength(10)
  expect(new Set(faults.map(({ pointer }) => pointer)).size).toBe(10)
})

test('a fault does not repeat what was sent', () => {
  const { faults } = compile({ $schema: 'SECRET', properties: {} })
  expect(JSON.stringify([...faults, ...compile({ type: 'SECRET' }).faults])).not.toContain('SECRET')
})

test('schemas do not know each other: the same $id and $anchor come again and again', () => {
  const schema = { $id: 'https://example.com/a', $defs: { a: { $anchor: 'here', type: 'string' } } }
  const reports = Array.from({ length: 600 }, () => compile(schema))
  expect(reports.filter(({ faults }) => faults.length > 0)).toEqual([])
})
