import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { definitionDigest } from '@toolrack/contract'
import { admitDefinition } from '../../../../functions/src/catalog/definitions/admit-definition.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'

const compilers = new SchemaCompilers({ deadlineMs: 60_000 })
afterAll(() => compilers.close())

const admit = (sent: JsonObject) => admitDefinition(sent, compilers.own)
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

async function textOf(sent: JsonObject): Promise<string> {
  const admission = await admit(sent)
  if ('faults' in admission) throw new Error(JSON.stringify(admission.faults))
  expect(admission.digest).toBe(definitionDigest(admission.definition))
  expect(JSON.parse(admission.text)).toEqual(admission.definition)
  return admission.text
}

test('the same content gives the same text, whatever the order of keys outside the schema and whatever shape it was sent in', async () => {
  const ours = {
    type: 'function',
    function: { name: 'a', description: 'b', parameters: schema },
    annotations: { title: 'T', readOnlyHint: true },
    tags: ['t'],
  }
  const text = await textOf(ours)
  const turned = {
    tags: ['t'],
    annotations: { readOnlyHint: true, title: 'T' },
    function: { parameters: schema, description: 'b', name: 'a' },
    type: 'function',
  }
  const mcp = {
    inputSchema: schema,
    tags: ['t'],
    title: 'T',
    name: 'a',
    description: 'b',
    annotations: { readOnlyHint: true },
    outputSchema: {},
  }
  expect(await textOf(turned)).toBe(text)
  expect(await textOf(mcp)).toBe(text)
  expect(await textOf(JSON.parse(text) as JsonObject)).toBe(text)
})

test('the text keeps the key order of the schema', async () => {
  const parameters = {
    required: ['b'],
    properties: { b: { title: 'x', type: 'string' }, a: {} },
    type: 'object',
    'x-own': { z: 1, y: 2 },
  }
  expect(await textOf({ name: 'a', description: '', parameters })).toContain(JSON.stringify(parameters))
})

test('a Gemini declaration with upper-case types is told place by place, as it was sent', async () => {
  const parameters = {
    type: 'OBJECT',
    properties: { days: { type: 'INTEGER', nullable: true }, type: { type: 'STRING' } },
  }
  expect(await admit({ name: 'a', description: 'b', parameters })).toMatchObject({
    definition: {
      function: {
        parameters: {
          type: 'object',
          properties: { days: { type: 'integer', nullable: true }, type: { type: 'string' } },
        },
      },
    },
    normalised: [
      { pointer: '', from: 'bare OpenAI function', to: 'function tool' },
      { pointer: '/parameters/properties/days/type', from: 'INTEGER', to: 'integer' },
      { pointer: '/parameters/properties/type/type', from: 'STRING', to: 'string' },
      { pointer: '/parameters/type', from: 'OBJECT', to: 'object' },
    ],
  })
})

test.each<[string, (parameters: JsonObject) => JsonObject, string]>([
  [
    'ours',
    (parameters) => ({ type: 'function', function: { name: 'a', description: 'b', parameters } }),
    '/function/parameters',
  ],
  ['bare', (parameters) => ({ name: 'a', description: 'b', parameters }), '/parameters'],
  ['MCP', (inputSchema) => ({ name: 'a', description: 'b', inputSchema }), '/inputSchema'],
  ['Anthropic', (schema) => ({ name: 'a', description: 'b', input_schema: schema }), '/input_schema'],
])('pointers of the schema lead into what was sent: %s', async (_title, wrap, at) => {
  const looking = wrap({ properties: { 'a/b': { type: 'str', pattern: '(?=x)' } } })
  expect(await admit(looking)).toMatchObject({ unenforced: [{ pointer: `${at}/properties/a~1b/pattern` }] })
  const normalised = expect.arrayContaining([
    { pointer: `${at}/properties/a~1b/type`, from: 'str', to: 'string' },
  ])
  expect(await admit(looking)).toMatchObject({ normalised })
  const broken = await admit(wrap({ properties: { a: { $ref: '#/missing' } } }))
  expect(broken).toEqual({
    faults: [{ reason: 'SCHEMA_REJECTED', pointer: `${at}/properties/a/$ref`, message: expect.any(String) }],
  })
  const root = await admit(wrap({ type: 'string' }))
  expect(root).toMatchObject({ faults: [{ pointer: `${at}/type` }] })
})

test('the digest is that of the schema as it is kept, types normalised', async () => {
  const kept = await admit({ name: 'a', description: 'b', parameters: schema })
  const loose = await admit({ name: 'a', description: 'b', parameters: { ...schema, type: 'dict' } })
  expect(loose).toMatchObject({ digest: 'digest' in kept ? kept.digest : 'none' })
})
