import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { enforceableSchema } from '../../../../functions/src/catalog/schemas/enforceable-schema.ts'

const LOOKING = '^(?!x)'
const pointersOf = (found: readonly { readonly pointer: string }[]): string[] =>
  found.map(({ pointer }) => pointer)

test('a pattern that RE2 cannot run goes from what is compiled, and only there', () => {
  const schema = {
    properties: { a: { type: 'string', pattern: LOOKING, maxLength: 3 }, b: { pattern: '^b' } },
  }
  const before = JSON.stringify(schema)
  const found = enforceableSchema(schema)
  expect(found.schema).toEqual({ properties: { a: { type: 'string', maxLength: 3 }, b: { pattern: '^b' } } })
  expect(pointersOf(found.unenforced)).toEqual(['/properties/a/pattern'])
  expect(found.unenforced[0]?.reason).toMatch(/RE2 cannot run/)
  expect(found.faults).toEqual([])
  expect(JSON.stringify(schema)).toBe(before)
})

test('^(a+)+$ stays enforced', () => {
  const schema = { properties: { a: { pattern: '^(a+)+$' } } }
  expect(enforceableSchema(schema)).toEqual({ schema, unenforced: [], faults: [] })
})

test('with an entry of patternProperties go the keywords that would then refuse its properties', () => {
  const schema = {
    properties: { own: {} },
    patternProperties: { [LOOKING]: { type: 'string' }, '^y': { type: 'number' } },
    additionalProperties: false,
    unevaluatedProperties: false,
  }
  const found = enforceableSchema(schema)
  expect(found.schema).toEqual({ properties: { own: {} }, patternProperties: { '^y': { type: 'number' } } })
  expect(pointersOf(found.unenforced)).toEqual([
    `/patternProperties/${LOOKING}`,
    '/additionalProperties',
    '/unevaluatedProperties',
  ])
})

test('unevaluatedProperties goes wherever it stands, for it can see the lost pattern from afar', () => {
  const schema = {
    allOf: [{ patternProperties: { [LOOKING]: {} } }],
    unevaluatedProperties: false,
    additionalProperties: {},
  }
  const found = enforceableSchema(schema)
  expect(found.schema).toEqual({ allOf: [{ patternProperties: {} }], additionalProperties: {} })
  expect(pointersOf(found.unenforced)).toEqual([
    `/allOf/0/patternProperties/${LOOKING}`,
    '/unevaluatedProperties',
  ])
})

test('patternProperties that RE2 runs keep additionalProperties closed', () => {
  const schema = { patternProperties: { '^x': {} }, additionalProperties: false }
  expect(enforceableSchema(schema)).toEqual({ schema, unenforced: [], faults: [] })
})

test('additionalProperties beside an unenforceable pattern elsewhere stays', () => {
  const closed = { additionalProperties: false, properties: { a: { pattern: LOOKING } } }
  expect(enforceableSchema(closed).schema).toEqual({ additionalProperties: false, properties: { a: {} } })
})

test.each<[string, JsonObject, string[]]>([
  ['a pattern', { items: { pattern: '(' } }, ['/items/pattern']],
  [
    'a key of patternProperties',
    { patternProperties: { '[': {}, '^a/b(': {} } },
    ['/patternProperties/[', '/patternProperties/^a~1b('],
  ],
])('%s that is no regular expression is a fault at its place', (_title, schema, pointers) => {
  expect(pointersOf(enforceableSchema(schema).faults)).toEqual(pointers)
})

test.each<[string, JsonObject]>([
  ['a property called pattern', { properties: { pattern: { type: 'string' } } }],
  ['a default', { default: { pattern: LOOKING, patternProperties: { '(': {} } } }],
  ['an enum', { enum: [{ pattern: '(' }] }],
])('%s is no pattern', (_title, schema) => {
  expect(enforceableSchema(schema)).toEqual({ schema, unenforced: [], faults: [] })
})

test("OpenAPI's nullable without a type says nothing and goes; beside a type it stays", () => {
  const schema = {
    properties: { a: { nullable: true, anyOf: [{}] }, b: { nullable: true, type: 'string' }, nullable: {} },
  }
  expect(enforceableSchema(schema).schema).toEqual({
    properties: { a: { anyOf: [{}] }, b: { nullable: true, type: 'string' }, nullable: {} },
  })
})

test('an unenforced patternProperties opens every unevaluatedProperties, also of the schemas around it', () => {
  const schema = {
    unevaluatedProperties: false,
    allOf: [{ patternProperties: { '(?=x)y': {}, '^z': {} }, additionalProperties: false }],
  }
  const { schema: enforced, unenforced } = enforceableSchema(schema)
  expect(enforced).toEqual({ allOf: [{ patternProperties: { '^z': {} } }] })
  expect(unenforced.map(({ pointer }) => pointer)).toEqual([
    '/allOf/0/patternProperties/(?=x)y',
    '/allOf/0/additionalProperties',
    '/unevaluatedProperties',
  ])
})

test("Ajv's own $async is not handed to it", () => {
  expect(enforceableSchema({ $async: true, properties: { a: { $async: true } } }).schema).toEqual({
    properties: { a: {} },
  })
})

const LOST = { pattern: LOOKING }
const condition = (asked: JsonObject, then: JsonObject): JsonObject =>
  JSON.parse(`{"if":${JSON.stringify(asked)},"then":${JSON.stringify(then)},"else":false}`) as JsonObject
test.each<[string, JsonObject, JsonObject]>([
  ['not', { not: { properties: { a: LOST } } }, {}],
  ['not, by a reference', { $defs: { a: LOST }, not: { $ref: '#/$defs/a' } }, { $defs: { a: {} } }],
  ['a not in a not', { not: { not: LOST } }, {}],
  ['oneOf', { oneOf: [LOST, { type: 'number' }], minLength: 1 }, { minLength: 1 }],
  ['if, with then and else', condition(LOST, { type: 'string' }), {}],
  ['maxContains', { contains: LOST, maxContains: 1 }, { contains: {} }],
  [
    'what an evaluation is no longer known for',
    {
      oneOf: [{ properties: { a: LOST }, prefixItems: [] }],
      unevaluatedItems: false,
      unevaluatedProperties: false,
    },
    {},
  ],
])(
  'without its pattern a schema admits more, so %s goes where it would refuse for that',
  (_title, schema, expected) => {
    const found = enforceableSchema(schema)
    expect(found.schema).toEqual(expected)
    expect(found.unenforced.length).toBeGreaterThan(1)
  },
)

test.each<[string, JsonObject]>([
  ['anyOf and allOf', { anyOf: [LOST, {}], allOf: [LOST] }],
  ['then', condition({ type: 'string' }, LOST)],
  ['contains', { contains: LOST }],
  ['a not elsewhere', { not: { type: 'string' }, properties: { a: LOST } }],
])('%s stays, for there it only admits more', (_title, schema) => {
  expect(Object.keys(enforceableSchema(schema).schema)).toEqual(Object.keys(schema))
})
