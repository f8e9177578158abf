import { expect, test } from '@jest/globals'
import { dropOmittedArguments } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    needed: { type: 'string' },
    optional: { type: 'string' },
    either: { type: ['string', 'null'] },
    nullable: { type: 'string', nullable: true },
    anything: {},
    choice: { enum: ['a', 'b'] },
    union: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    open: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    place: { $ref: '#/$defs/place' },
    places: { type: 'array', items: { $ref: '#/$defs/place' } },
    none: false,
    combined: { allOf: [{ type: 'string' }] },
  },
  required: ['needed'],
  $defs: { place: { type: 'object', properties: { city: { type: 'string' } } } },
}

test.each<[string, JsonObject, JsonObject]>([
  ['what may be left out and takes no null goes', { needed: 'a', optional: null }, { needed: 'a' }],
  ['what is required stays, to be refused', { needed: null }, { needed: null }],
  [
    'what may be null stays',
    { either: null, nullable: null, open: null },
    { either: null, nullable: null, open: null },
  ],
  ['what may be anything stays', { anything: null, combined: null }, { anything: null, combined: null }],
  ['what is not declared stays', { other: null }, { other: null }],
  [
    'an alternative, a choice and a reference that take no null go',
    { choice: null, union: null, place: null },
    {},
  ],
  ['what can never be given goes', { none: null }, {}],
  [
    'inside of objects and lists too',
    { place: { city: null }, places: [{ city: null }, { city: 'x' }] },
    { place: {}, places: [{}, { city: 'x' }] },
  ],
])('%s', (_title, args, expected) => {
  expect(dropOmittedArguments(PARAMETERS, args)).toEqual(expected)
})

test('arguments without such a null are the same object, and theirs are never changed', () => {
  const args = Object.freeze({ needed: 'a', place: Object.freeze({ city: 'b' }), places: Object.freeze([]) })
  expect(dropOmittedArguments(PARAMETERS, args)).toBe(args)
  const nulls = Object.freeze({ optional: null, place: Object.freeze({ city: null }) })
  expect(dropOmittedArguments(PARAMETERS, nulls)).toEqual({ place: {} })
})

test('a parameter that is called as what every object has is one of its own', () => {
  expect(dropOmittedArguments(PARAMETERS, { toString: null })).toEqual({ toString: null })
  expect(dropOmittedArguments({}, { a: null })).toEqual({ a: null })
})

test('each part of a schema is read once, however many values of it there are', () => {
  let reads = 0
  const schema = Object.defineProperty({}, 'type', { get: () => ((reads += 1), 'string') })
  const item = { type: 'object', properties: { a: { anyOf: Array.from({ length: 100 }, () => schema) } } }
  const parameters = {
    properties: { list: { type: 'array', items: { $ref: '#/$defs/item' } } },
    $defs: { item },
  } as unknown as JsonObject
  const list = Array.from({ length: 1_000 }, () => ({ a: null }))
  expect(dropOmittedArguments(parameters, { list })).toEqual({ list: list.map(() => ({})) })
  expect(reads).toBeLessThan(1_000)
})
