import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { expandedWeight } from '../../../../functions/src/catalog/schemas/expanded-weight.ts'

const s = { type: 'string' }

test.each<[string, JsonObject]>([
  ['#/$defs/name', { $defs: { a: s }, properties: { x: { $ref: '#/$defs/a' } } }],
  ['#/definitions/name', { definitions: { a: s }, items: { $ref: '#/definitions/a' } }],
  ['another property', { properties: { a: s, b: { $ref: '#/properties/a' } } }],
  ['an element of a list', { anyOf: [s, { $ref: '#/anyOf/0' }] }],
  ['~1 for a slash', { $defs: { 'a/b': s }, not: { $ref: '#/$defs/a~1b' } }],
  ['~0 for a tilde', { $defs: { 'a~b': s }, not: { $ref: '#/$defs/a~0b' } }],
  ['~01 for a tilde and a digit', { $defs: { 'a~1': s }, not: { $ref: '#/$defs/a~01' } }],
  ['%25 for a percent sign', { $defs: { '50%': s }, not: { $ref: '#/$defs/50%25' } }],
  ['percent-encoded UTF-8', { $defs: { '\u20AC': s }, not: { $ref: '#/$defs/%E2%82%AC' } }],
  ['a chain', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/c' }, c: s }, $ref: '#/$defs/a' }],
  ['a schema that is true', { $defs: { a: true }, not: { $ref: '#/$defs/a' } }],
  [
    'the same target from many places',
    { $defs: { a: s }, anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] },
  ],
  ['a root with $id', { $id: 'https://example.com/x', $defs: { a: s }, not: { $ref: '#/$defs/a' } }],
  ['a property that is called $ref', { properties: { $ref: s, $id: s, $dynamicRef: s } }],
  ['a $ref inside a default', { properties: { a: { default: { $ref: 'http://example.com' } } } }],
])('a reference is followed: %s', (_title, schema) => {
  expect(expandedWeight(schema).fault).toBeUndefined()
})

test.each<[string, JsonObject, string, RegExp]>([
  ['to the root', { properties: { a: { $ref: '#' } } }, '/properties/a/$ref', /recursion/],
  ['of a schema to itself', { $defs: { a: { $ref: '#/$defs/a' } } }, '/$defs/a/$ref', /recursion/],
  [
    'of two schemas to each other',
    { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    '/$defs/b/$ref',
    /recursion/,
  ],
  [
    'through properties',
    { $defs: { t: { properties: { c: { items: { $ref: '#/$defs/t' } } } } } },
    '/$defs/t/properties/c/items/$ref',
    /recursion/,
  ],
  ['to an unknown keyword', { 'x-own': { a: s }, not: { $ref: '#/x-own/a' } }, '/not/$ref', /\$defs/],
  ['to a map of schemas', { properties: { a: s }, not: { $ref: '#/properties' } }, '/not/$ref', /\$defs/],
  [
    'to a schema around it',
    { properties: { a: { properties: { b: { $ref: '#/properties/a' } } } } },
    '/properties/a/properties/b/$ref',
    /recursion/,
  ],
  [
    'by http',
    { properties: { a: { $ref: 'https://example.com/a.json' } } },
    '/properties/a/$ref',
    /nothing is fetched/,
  ],
  ['to a file', { not: { $ref: 'file:///etc/passwd' } }, '/not/$ref', /nothing is fetched/],
  ['to a relative document', { not: { $ref: 'a.json#/x' } }, '/not/$ref', /nothing is fetched/],
  ['that is empty', { not: { $ref: '' } }, '/not/$ref', /only a local/],
  [
    'to the own $id',
    { $id: 'https://example.com/x', not: { $ref: 'https://example.com/x#/$defs/a' }, $defs: { a: s } },
    '/not/$ref',
    /only a local/,
  ],
  [
    'by anchor',
    { $defs: { a: { $anchor: 'x' } }, not: { $ref: '#x' } },
    '/not/$ref',
    /anchors are not followed/,
  ],
  ['to nothing', { not: { $ref: '#/$defs/missing' } }, '/not/$ref', /leads to nothing/],
  [
    'to a name of Object.prototype',
    { $defs: {}, not: { $ref: '#/$defs/toString' } },
    '/not/$ref',
    /leads to nothing/,
  ],
  [
    'to the prototype of an object',
    { $defs: {}, not: { $ref: '#/$defs/__proto__' } },
    '/not/$ref',
    /leads to nothing/,
  ],
  ['to a length', { anyOf: [s], not: { $ref: '#/anyOf/length' } }, '/not/$ref', /leads to nothing/],
  ['to a list', { anyOf: [s], not: { $ref: '#/anyOf' } }, '/not/$ref', /not a schema/],
  ['to a text', { title: 'x', not: { $ref: '#/title' } }, '/not/$ref', /not a schema/],
  ['with a bad escape', { not: { $ref: '#/a~2' } }, '/not/$ref', /must be a JSON Pointer/],
  ['with a bad percent escape', { not: { $ref: '#/%zz' } }, '/not/$ref', /percent-encoding/],
  ['that is a number', { not: { $ref: 5 } }, '/not/$ref', /must be a string/],
  [
    'that is hidden below a target',
    { $defs: { a: { b: { $ref: 'http://x.example' } } }, not: { $ref: '#/$defs/a/b' } },
    '/not/$ref',
    /\$defs/,
  ],
])('a reference is refused: %s', (_title, schema, pointer, message) => {
  expect(expandedWeight(schema).fault).toEqual({ pointer, message: expect.stringMatching(message) })
})

test.each(['$dynamicRef', '$recursiveRef', '$dynamicAnchor', '$recursiveAnchor', '$vocabulary'])(
  '%s is refused where it stands, at the root and below',
  (keyword) => {
    expect(expandedWeight({ [keyword]: '#x' }).fault?.pointer).toBe(`/${keyword}`)
    expect(expandedWeight({ items: { [keyword]: '#x' } }).fault?.pointer).toBe(`/items/${keyword}`)
  },
)

test('$id below the root is refused, for it would change what # means', () => {
  expect(expandedWeight({ properties: { a: { $id: 'https://example.com/a' } } }).fault?.pointer).toBe(
    '/properties/a/$id',
  )
})
