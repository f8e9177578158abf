import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { normaliseTypeNames } from '../../../../functions/src/catalog/schemas/type-names.ts'

test.each([
  ['dict', 'object'],
  ['Dict', 'object'],
  ['float', 'number'],
  ['double', 'number'],
  ['int', 'integer'],
  ['long', 'integer'],
  ['str', 'string'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['List', 'array'],
  ['tuple', 'array'],
  ['Tuple', 'array'],
  ['set', 'array'],
  ['None', 'null'],
  ['NoneType', 'null'],
  ['OBJECT', 'object'],
  ['NUMBER', 'number'],
  ['INTEGER', 'integer'],
  ['STRING', 'string'],
  ['BOOLEAN', 'boolean'],
  ['ARRAY', 'array'],
  ['NULL', 'null'],
])('the type %s is read as %s, and told', (from, to) => {
  expect(normaliseTypeNames({ type: from })).toEqual({
    schema: { type: to },
    changes: [{ pointer: '/type', from, to }],
  })
})

test.each(['any', 'Any', 'TYPE_UNSPECIFIED'])(
  'the type %s allows anything, so the keyword goes, and it is told',
  (from) => {
    expect(normaliseTypeNames({ properties: { a: { type: from, title: 't' } } })).toEqual({
      schema: { properties: { a: { title: 't' } } },
      changes: [{ pointer: '/properties/a/type', from, to: null }],
    })
  },
)

test.each<[string, JsonObject, JsonObject, string[]]>([
  [
    'in a list of types',
    { type: ['str', 'null', 'float'] },
    { type: ['string', 'null', 'number'] },
    ['/type/0', '/type/2'],
  ],
  ['a list with any', { type: ['str', 'any'] }, {}, ['/type/0', '/type/1']],
  ['in items', { items: { type: 'float' } }, { items: { type: 'number' } }, ['/items/type']],
  [
    'in a tuple',
    { prefixItems: [{ type: 'str' }, { type: 'int' }] },
    { prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    ['/prefixItems/0/type', '/prefixItems/1/type'],
  ],
  [
    'in $defs',
    { $defs: { 'a/b': { type: 'dict' } } },
    { $defs: { 'a/b': { type: 'object' } } },
    ['/$defs/a~1b/type'],
  ],
  [
    'in additionalProperties',
    { additionalProperties: { type: 'bool' } },
    { additionalProperties: { type: 'boolean' } },
    ['/additionalProperties/type'],
  ],
  [
    'in anyOf below properties',
    { properties: { a: { anyOf: [{ type: 'None' }] } } },
    { properties: { a: { anyOf: [{ type: 'null' }] } } },
    ['/properties/a/anyOf/0/type'],
  ],
  [
    'in a property that is called type',
    { properties: { type: { type: 'dict' } } },
    { properties: { type: { type: 'object' } } },
    ['/properties/type/type'],
  ],
])('a type is read %s', (_title, sent, schema, pointers) => {
  const read = normaliseTypeNames(sent)
  expect(read.schema).toEqual(schema)
  expect(read.changes.map(({ pointer }) => pointer)).toEqual(pointers)
})

test.each<[string, JsonObject]>([
  ['a type of JSON Schema', { type: 'object', properties: { a: { type: ['string', 'null'] } } }],
  ['a type that nobody knows', { type: 'datetime' }],
  ['an enum', { enum: ['dict', { type: 'dict' }] }],
  ['a const', { const: { type: 'float' } }],
  ['a default', { default: { type: 'float', properties: { a: { type: 'int' } } } }],
  ['examples', { examples: [{ type: 'dict' }] }],
  ['an unknown keyword', { 'x-own': { type: 'dict' } }],
  ['a required property', { required: ['dict', 'type'], dependentRequired: { type: ['float'] } }],
  ['a description', { description: 'type: dict' }],
])('%s is left alone', (_title, schema) => {
  expect(normaliseTypeNames(schema)).toEqual({ schema, changes: [] })
})

test('the order of keys stays, and what was sent is not touched', () => {
  const sent = { description: 'd', type: 'dict', properties: { b: { type: 'str' }, a: { type: 'int' } } }
  const before = JSON.stringify(sent)
  expect(JSON.stringify(normaliseTypeNames(sent).schema)).toBe(
    before.replace('dict', 'object').replace('str', 'string').replace('"int"', '"integer"'),
  )
  expect(JSON.stringify(sent)).toBe(before)
})
