import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { admitSchema } from '../../../../functions/src/catalog/schemas/admit-schema.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { doublingBomb, nestedSchema } from '../../../support/schema-shapes.ts'

const compilers = new SchemaCompilers({ deadlineMs: 60_000 })
afterAll(() => compilers.close())

test.each<[string, JsonObject]>([
  ['the empty object', {}],
  ['a root without a type', { properties: { a: { type: 'string' } } }],
  ['a root of type object', { type: 'object' }],
  ['a root anyOf', { anyOf: [{ required: ['a'] }] }],
  ['a root $ref', { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } }],
])('%s is admitted as it is', async (_title, schema) => {
  expect(await admitSchema(schema, compilers.own)).toEqual({
    schema,
    changes: [],
    unenforced: [],
    faults: [],
  })
})

test.each<[string, unknown]>([
  ['a string', 'string'],
  ['an array', 'array'],
  ['a list of types', ['object', 'null']],
  ['null', null],
  ['a number', 5],
  ['an unknown type', 'datetime'],
  ['a Python list', 'list'],
])('a root whose type is %s is refused at /type', async (_title, type) => {
  const { faults } = await admitSchema({ type } as JsonObject, compilers.own)
  expect(faults).toEqual([{ pointer: '/type', message: expect.stringMatching(/must be of type object/) }])
})

test.each(['dict', 'OBJECT', 'any'])('a root of type %s is read as an object and told', async (from) => {
  const admission = await admitSchema({ type: from, properties: {} }, compilers.own)
  expect(admission.faults).toEqual([])
  expect(admission.changes).toEqual([{ pointer: '/type', from, to: from === 'any' ? null : 'object' }])
})

test('a mark that is a boolean, and a property with its name, are admitted, and each wrong one has a fault', async () => {
  const right = {
    'x-sensitive': false,
    properties: { 'x-sensitive': { type: 'string', 'x-sensitive': true } },
  }
  expect((await admitSchema(right, compilers.own)).faults).toEqual([])
  const wrong = {
    $defs: { a: { 'x-sensitive': 1 } },
    properties: { b: { anyOf: [{ 'x-sensitive': null }] } },
  }
  const { faults } = await admitSchema(wrong, compilers.own)
  expect(faults).toEqual([
    { pointer: '/$defs/a/x-sensitive', message: expect.stringMatching(/must be true or false/) },
    { pointer: '/properties/b/anyOf/0/x-sensitive', message: expect.stringMatching(/must be true or false/) },
  ])
})

test('the schema that is kept still holds the patterns that are not enforced', async () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '^(?=a)' }, b: { pattern: '^(a+)+$' } },
  }
  const admission = await admitSchema(schema, compilers.own)
  expect(admission.schema).toEqual(schema)
  expect(admission.unenforced.map(({ pointer }) => pointer)).toEqual(['/properties/a/pattern'])
})

test.each<[string, JsonObject, string]>([
  ['too deep', nestedSchema(33), '/not'.repeat(32)],
  ['a remote $ref', { properties: { a: { $ref: 'https://example.com' } } }, '/properties/a/$ref'],
  ['a cycle', { properties: { a: { $ref: '#' } } }, '/properties/a/$ref'],
  ['required that is a text', { required: 'x' }, '/required'],
  [
    'a mark that is no boolean',
    { properties: { a: { items: { 'x-sensitive': 'true' } } } },
    '/properties/a/items/x-sensitive',
  ],
  ['a pattern that is none', { properties: { a: { pattern: '(' } } }, '/properties/a/pattern'],
])('%s is refused with its pointer', async (_title, schema, pointer) => {
  const { faults } = await admitSchema(schema, compilers.own)
  expect(faults.map((fault) => fault.pointer)).toEqual([pointer])
})

test('what the limits refuse never reaches the worker', async () => {
  const unreachable = new SchemaCompilers({ workerUrl: new URL('file:///no-such-worker.js') })
  const bomb = await admitSchema(doublingBomb(40), unreachable.own)
  expect(bomb.faults).toHaveLength(1)
  await expect(admitSchema({}, unreachable.own)).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
})
