import { expect, test } from '@jest/globals'
import { jsonPointer, mapSubschemas, subschemas } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'

const s = { type: 'string' }

test.each<[string, JsonObject, string[]]>([
  ['properties', { properties: { a: s, 'b/c': s } }, ['/properties/a', '/properties/b~1c']],
  ['patternProperties', { patternProperties: { '^x': s } }, ['/patternProperties/^x']],
  ['$defs and definitions', { $defs: { a: s }, definitions: { b: s } }, ['/$defs/a', '/definitions/b']],
  [
    'the combining keywords',
    { allOf: [s], anyOf: [s, s], oneOf: [s], not: s },
    ['/allOf/0', '/anyOf/0', '/anyOf/1', '/oneOf/0', '/not'],
  ],
  ['if, then and else', JSON.parse('{"if":{},"then":{},"else":{}}') as JsonObject, ['/if', '/then', '/else']],
  ['items as one schema', { items: s }, ['/items']],
  [
    'items as a draft-07 tuple',
    { items: [s, s], additionalItems: s },
    ['/items/0', '/items/1', '/additionalItems'],
  ],
  [
    'the other keywords of arrays',
    { prefixItems: [s], contains: s, unevaluatedItems: s },
    ['/prefixItems/0', '/contains', '/unevaluatedItems'],
  ],
  [
    'the other keywords of objects',
    { additionalProperties: s, propertyNames: s, unevaluatedProperties: s, dependentSchemas: { a: s } },
    ['/additionalProperties', '/propertyNames', '/unevaluatedProperties', '/dependentSchemas/a'],
  ],
  ['dependencies, both kinds', { dependencies: { a: s, b: ['c'] } }, ['/dependencies/a']],
  ['contentSchema', { contentSchema: s }, ['/contentSchema']],
])('schemas lie below %s', (_keyword, schema, pointers) => {
  expect(subschemas(schema).map(({ path }) => jsonPointer(path))).toEqual(pointers)
})

test('a property with the name of a keyword is a schema, not a keyword', () => {
  const schema = { properties: { enum: s, properties: s, $ref: s } }
  expect(subschemas(schema).map(({ path }) => jsonPointer(path))).toEqual([
    '/properties/enum',
    '/properties/properties',
    '/properties/$ref',
  ])
})

test.each(['enum', 'const', 'default', 'examples', 'example', 'x-own', 'required', 'dependentRequired'])(
  'no schema lies below %s',
  (keyword) => {
    expect(subschemas({ [keyword]: { properties: { a: s } } })).toEqual([])
    expect(subschemas({ [keyword]: [{ properties: { a: s } }] })).toEqual([])
  },
)

test('true and false are no schema objects', () => {
  expect(
    subschemas({ additionalProperties: false, items: true, allOf: [true], properties: { a: false } }),
  ).toEqual([])
})

test('each schema directly below is mapped, with its path, and true and false are schemas too', () => {
  const schema = {
    properties: { a: s, b: true },
    items: false,
    anyOf: [s, true],
    enum: [true, { type: 'string' }],
    dependencies: { a: ['b'], c: s },
  }
  const mapped = mapSubschemas(schema, (_child, path) => ({ title: jsonPointer(path) }))
  expect(mapped).toEqual({
    properties: { a: { title: '/properties/a' }, b: { title: '/properties/b' } },
    items: { title: '/items' },
    anyOf: [{ title: '/anyOf/0' }, { title: '/anyOf/1' }],
    enum: [true, { type: 'string' }],
    dependencies: { a: ['b'], c: { title: '/dependencies/c' } },
  })
})

test('a schema of which nothing is changed is the same object, and is never changed itself', () => {
  const schema = Object.freeze({ properties: Object.freeze({ a: s }), anyOf: Object.freeze([s]), not: s })
  expect(mapSubschemas(schema, (child) => child)).toBe(schema)
  const changed = mapSubschemas(schema, (child, [keyword]) => (keyword === 'not' ? {} : child))
  expect(changed).toEqual({ ...schema, not: {} })
  expect(changed['properties']).toBe(schema.properties)
})

test('a property that is called __proto__ stays one', () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"},"a":true}}') as JsonObject
  const mapped = mapSubschemas(schema, (child) => (child === true ? {} : child))
  expect(JSON.stringify(mapped)).toBe('{"properties":{"__proto__":{"type":"string"},"a":{}}}')
})
